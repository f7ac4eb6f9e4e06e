// What is printed: an output that is full or closed is told once, in the end, and never throws in between.
#pragma once

#include <string>

namespace hindsight {

/// To standard output, at once.
void print_output(const std::string& text);
/// To standard error, at once. What fails there cannot be told anybody.
void print_error(const std::string& text);
/// @throws ResourceError when some of what was printed did not reach standard output.
void require_output();

}  // namespace hindsight
