// A file of the operating system.
#pragma once

#include "io/files/raw_file.hpp"

namespace hindsight {

/// Owns an open file descriptor.
class PosixFile final : public RawFile {
 public:
  PosixFile(int file, bool is_direct) : file_(file), is_direct_(is_direct) {}
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override;
  ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override;
  int reserve(std::int64_t offset, std::int64_t bytes) override;
  int flush() override;
  std::int64_t size() override;
  bool is_direct() const override { return is_direct_; }

 private:
  int file_;
  bool is_direct_;
};

}  // namespace hindsight
