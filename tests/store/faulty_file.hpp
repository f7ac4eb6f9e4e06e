// A file that fails on demand, in place of the real one.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/files/raw_file.hpp"

namespace hindsight::test {

/// What goes wrong with the data of checkpoints (transfers of 4 KiB and more). Calls count from 0.
struct Faults {
  std::mutex mutex;
  std::size_t most_at_once = std::numeric_limits<std::size_t>::max();  ///< longer transfers stop short
  std::set<std::int64_t> failing_writes, failing_reads;                ///< calls that end with EIO
  std::set<std::int64_t> bad_for_writes, bad_for_reads;                ///< places where all calls do
  std::vector<std::int64_t> read_at;                                   ///< places, in the order of the calls
  std::int64_t room = std::numeric_limits<std::int64_t>::max();        ///< bytes of new places that can be written
  std::int64_t room_to_reserve = std::numeric_limits<std::int64_t>::max();
  std::int64_t flipped_write = -1, flipped_read = -1;  ///< calls that change one bit
  std::int64_t flipped_bit = 0;                        ///< modulo the bits of the transfer
  std::int64_t writes = 0, reads = 0, flips = 0;
};

class FaultyFile final : public RawFile {
 public:
  FaultyFile(std::unique_ptr<RawFile> file, std::shared_ptr<Faults> faults)
      : file_(std::move(file)), faults_(std::move(faults)) {}

  ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override {
    if (bytes < data_size) return file_->write(from, bytes, offset);
    const std::scoped_lock lock(faults_->mutex);
    const std::int64_t call = faults_->writes++;
    if (faults_->failing_writes.contains(call) || faults_->bad_for_writes.contains(offset)) return fail(EIO);
    bytes = std::min(bytes, faults_->most_at_once);
    if (!written_.contains(offset)) {
      if (static_cast<std::int64_t>(bytes) > faults_->room) return fail(ENOSPC);
      faults_->room -= static_cast<std::int64_t>(bytes);
      written_.insert(offset);
    }
    if (call != faults_->flipped_write) return file_->write(from, bytes, offset);
    return file_->write(flipped(from, bytes), bytes, offset);
  }
  ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override {
    if (bytes < data_size) return file_->read(to, bytes, offset);
    const std::scoped_lock lock(faults_->mutex);
    const std::int64_t call = faults_->reads++;
    faults_->read_at.push_back(offset);
    if (faults_->failing_reads.contains(call) || faults_->bad_for_reads.contains(offset)) return fail(EIO);
    bytes = std::min(bytes, faults_->most_at_once);
    const ssize_t n = file_->read(to, bytes, offset);
    if (call == faults_->flipped_read) std::memcpy(to, flipped(to, bytes), bytes);
    return n;
  }
  int reserve(std::int64_t offset, std::int64_t bytes) override {
    if (bytes > faults_->room_to_reserve) return static_cast<int>(fail(ENOSPC));
    return file_->reserve(offset, bytes);
  }
  int flush() override { return file_->flush(); }
  std::int64_t size() override { return file_->size(); }
  bool is_direct() const override { return file_->is_direct(); }

 private:
  static constexpr std::size_t data_size = 4096;
  static ssize_t fail(int error) {
    errno = error;
    return -1;
  }
  const void* flipped(const void* from, std::size_t bytes) {
    const std::size_t bit = static_cast<std::size_t>(faults_->flipped_bit) % (8 * bytes);
    copy_.resize(bytes + data_size);
    char* const aligned = copy_.data() + (data_size - reinterpret_cast<std::uintptr_t>(copy_.data()) % data_size);
    std::memcpy(aligned, from, bytes);
    aligned[bit / 8] = static_cast<char>(aligned[bit / 8] ^ (1 << bit % 8));
    ++faults_->flips;
    return aligned;
  }

  std::unique_ptr<RawFile> file_;
  std::shared_ptr<Faults> faults_;
  std::vector<char> copy_;
  std::set<std::int64_t> written_;
};

/// Opens real files with these faults.
inline OpenRawFile faulty(std::shared_ptr<Faults> faults) {
  return [faults](const std::string& path, bool direct) -> std::unique_ptr<RawFile> {
    std::unique_ptr<RawFile> file = open_raw_file(path, direct);
    if (!file) return nullptr;
    return std::make_unique<FaultyFile>(std::move(file), faults);
  };
}

}  // namespace hindsight::test
