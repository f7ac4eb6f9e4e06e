#include "io/files/raw_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "io/files/posix_file.hpp"

namespace hindsight {

std::unique_ptr<RawFile> open_raw_file(const std::string& path, bool direct) {
  constexpr int flags = O_RDWR | O_CLOEXEC;
  if (direct) {
    const int file = open(path.c_str(), flags | O_DIRECT);
    if (file >= 0) return std::make_unique<PosixFile>(file, true);
    if (errno != EINVAL) return nullptr;
  }
  const int file = open(path.c_str(), flags);
  return file >= 0 ? std::make_unique<PosixFile>(file, false) : nullptr;
}

bool write_whole(RawFile& file, const void* from, std::int64_t bytes, std::int64_t offset) {
  const auto* at = static_cast<const char*>(from);
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = file.write(at + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    done += n;
  }
  return true;
}

bool read_whole(RawFile& file, void* to, std::int64_t bytes, std::int64_t offset) {
  auto* at = static_cast<char*>(to);
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = file.read(at + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENODATA;
    if (n <= 0) return false;
    done += n;
  }
  return true;
}

}  // namespace hindsight
