#include "io/checkpoints/raw_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hindsight {
namespace {

class PosixFile final : public RawFile {
 public:
  PosixFile(int file, bool is_direct) : file_(file), is_direct_(is_direct) {}
  ~PosixFile() override { close(file_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override {
    return pwrite(file_, from, bytes, offset);
  }
  ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override { return pread(file_, to, bytes, offset); }
  int reserve(std::int64_t offset, std::int64_t bytes) override {
    if (fallocate(file_, 0, offset, bytes) == 0) return 0;
    return errno == EOPNOTSUPP ? 0 : -1;  // some network file systems: the space is found missing later
  }
  int flush() override { return fdatasync(file_); }
  bool is_direct() const override { return is_direct_; }

 private:
  int file_;
  bool is_direct_;
};

}  // namespace

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

}  // namespace hindsight
