#include "runtime/standard_streams.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// Of the first that did not reach standard output: errno, 0 where it is not known.
std::optional<int> first_failure;

void put(std::FILE* stream, const std::string& text) {
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
  if (stream == stdout && !first_failure && std::ferror(stdout) != 0) first_failure = errno;
}

}  // namespace

void print_output(const std::string& text) {
  put(stdout, text);
}

void print_error(const std::string& text) {
  put(stderr, text);
}

void require_output() {
  put(stdout, "");
  if (!first_failure) return;
  throw ResourceError(std::string("cannot write to standard output") +
                      (*first_failure != 0 ? std::string(": ") + std::strerror(*first_failure) : ""));
}

}  // namespace hindsight
