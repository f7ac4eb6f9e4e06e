#include "io/files/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace hindsight {

PosixFile::~PosixFile() {
  close(file_);
}

ssize_t PosixFile::write(const void* from, std::size_t bytes, std::int64_t offset) {
  return pwrite(file_, from, bytes, offset);
}

ssize_t PosixFile::read(void* to, std::size_t bytes, std::int64_t offset) {
  return pread(file_, to, bytes, offset);
}

int PosixFile::reserve(std::int64_t offset, std::int64_t bytes) {
  int status = 0;
  do status = fallocate(file_, 0, offset, bytes);
  while (status != 0 && errno == EINTR);  // a signal that asks the run to stop, which it does later
  if (status == 0) return 0;
  return errno == EOPNOTSUPP ? 0 : -1;  // some network file systems: the space is found missing later
}

int PosixFile::flush() {
  return fdatasync(file_);
}

std::int64_t PosixFile::size() {
  struct stat status {};
  return fstat(file_, &status) == 0 ? static_cast<std::int64_t>(status.st_size) : -1;
}

}  // namespace hindsight
