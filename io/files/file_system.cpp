#include "io/files/file_system.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/files/posix_file.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

int flags_of(OpenMode mode) {
  if (mode == OpenMode::read_only) return O_RDONLY;
  return mode == OpenMode::existing ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC;
}

std::string folder_of(const std::string& path) {
  const std::string::size_type slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::unique_ptr<RawFile> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  const int file = ::open(path.c_str(), flags_of(mode) | O_CLOEXEC, 0644);
  return file >= 0 ? std::make_unique<PosixFile>(file, false) : nullptr;
}

int PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str());
}

int PosixFileSystem::remove(const std::string& path) {
  return unlink(path.c_str());
}

int PosixFileSystem::flush_folder_of(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  const int status = fsync(folder);
  const int error = errno;
  close(folder);
  errno = error;
  return status;
}

void write_text_file(FileSystem& files, const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  const std::unique_ptr<RawFile> file = files.open(partial, OpenMode::fresh);
  const bool is_whole = file && write_whole(*file, text.data(), static_cast<std::int64_t>(text.size()), 0) &&
                        file->flush() == 0 && files.rename(partial, path) == 0 && files.flush_folder_of(path) == 0;
  if (!is_whole) throw ResourceError("cannot write '" + path + "': " + std::strerror(errno));
}

}  // namespace hindsight
