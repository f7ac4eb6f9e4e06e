// Text as UTF-8.
#pragma once

#include <string_view>

namespace hindsight {

/// The index of the first byte that no UTF-8 text has there (RFC 3629: no overlong forms, no surrogates, nothing above
/// U+10FFFF), or std::string_view::npos.
std::size_t first_not_utf8(std::string_view text);

/// Second and later bytes of a character.
inline bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

}  // namespace hindsight
