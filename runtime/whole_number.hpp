// Whole numbers in texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

namespace hindsight {

/// The number that a text is, all of it; nothing where it is none, or too large.
inline std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace hindsight
