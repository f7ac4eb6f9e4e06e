// Text files that a person gives: read whole, and refused where they are no text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/error.hpp"

namespace hindsight {

/// A file that is named and cannot be read.
class MissingFile : public InputError {
 public:
  using InputError::InputError;
};

/// @throws MissingFile when the path cannot be read; InputError when it is a folder, or is no regular file: a device or
/// a pipe need not end. `what` is what was expected: "a case".
void require_regular_file(const std::string& path, const std::string& what);

/// The bytes of a regular file. @throws InputError as above, and when there are more than `most` bytes.
std::string read_regular_file(const std::string& path, const std::string& what, std::int64_t most);

/// The text without a byte-order mark. @throws InputError with line and column where it is not UTF-8.
std::string utf8_text(const std::string& path, std::string text);

}  // namespace hindsight
