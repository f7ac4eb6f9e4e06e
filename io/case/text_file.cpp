#include "io/case/text_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/error.hpp"
#include "runtime/utf8.hpp"

namespace hindsight {
namespace {

constexpr const char* byte_order_mark = "\xef\xbb\xbf";

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw MissingFile("cannot read '" + path + "': " + std::strerror(errno));
  return status;
}

}  // namespace

void require_regular_file(const std::string& path, const std::string& what) {
  const struct stat status = status_of(path);
  if (S_ISDIR(status.st_mode)) throw InputError("'" + path + "' is a folder, not " + what);
  if (!S_ISREG(status.st_mode))
    throw InputError("'" + path + "' is not a regular file: devices and pipes, which need not end, are not read as " +
                     what);
}

std::string read_regular_file(const std::string& path, const std::string& what, std::int64_t most) {
  require_regular_file(path, what);
  const auto size = static_cast<std::int64_t>(status_of(path).st_size);
  if (size > most) throw InputError(fmt::format("'{}' has {} bytes: {} has at most {}", path, size, what, most));
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), size);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) throw InputError("cannot read '" + path + "'");
  return text;
}

std::string utf8_text(const std::string& path, std::string text) {
  const std::size_t bad = first_not_utf8(text);
  if (bad != std::string_view::npos) {
    const auto place = text.begin() + static_cast<std::ptrdiff_t>(bad);
    const auto line = std::find(std::make_reverse_iterator(place), text.rend(), '\n').base();
    const auto characters = std::count_if(line, place, [](char c) { return !continues_character(c); });
    throw InputError(
        {path, 1 + static_cast<int>(std::count(text.begin(), place, '\n')), 1 + static_cast<int>(characters)},
        fmt::format("the byte 0x{:02x} is not UTF-8: save the file as UTF-8 text", static_cast<unsigned char>(*place)));
  }
  if (text.starts_with(byte_order_mark)) text.erase(0, std::strlen(byte_order_mark));
  return text;
}

}  // namespace hindsight
