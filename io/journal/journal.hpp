// What one rank must not lose: numbered payloads, of which the last two are kept.
//
//   0      header of block 0      one sector: magic, format, epoch, the payload's place, its bytes and CRC32C, and the
//   4096   header of block 1      CRC32C of all this
//   8192   payloads               each on a boundary of 4 KiB
//
// A commit goes to the block that does not hold the newest epoch: payload, flush, header, flush. Its payload lies
// before that of the newest epoch if it fits there and behind it otherwise. So payloads may grow, nothing is ever moved
// or renamed, and whatever is lost at any moment, the newest epoch's header and payload are not among it: no write
// touches them. A header that reaches the device finds its payload there: not even a checksum that is right by accident
// lets a crash give wrong content. A header that is overwritten half, or whose payload is, has a wrong checksum, and
// the other block counts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files/file_system.hpp"
#include "runtime/bytes.hpp"

namespace hindsight {

/// The journal of one rank. One thread at a time, any thread.
class Journal {
 public:
  /// Makes a journal that holds one epoch, in place of what has this name. It appears under its name when it is whole.
  /// @throws ResourceError
  static Journal create(FileSystem& files, const std::string& path, std::int64_t epoch = 0, ByteView payload = {});
  /// @returns nothing when there is no such file. @throws ResourceError, naming the file and what is wrong with both
  /// blocks, when none is valid: no crash leaves such a file. A block that is not valid counts as empty.
  static std::optional<Journal> open(FileSystem& files, const std::string& path, OpenMode mode = OpenMode::existing);

  const std::string& path() const { return path_; }
  std::int64_t newest() const { return blocks_[newest_block()].epoch; }
  /// The valid ones, one or two, newest first.
  std::vector<std::int64_t> epochs() const;
  /// What is wrong with the other block when only one is valid; empty when it was never used.
  const std::string& damage() const { return blocks_[1 - newest_block()].damage; }
  /// The payload of a valid epoch. @throws ResourceError when it cannot be read, or not as it was written.
  Bytes load(std::int64_t epoch) const;
  /// When this returns, the payload is kept whatever happens. @param epoch newest() + 1. @throws ResourceError; the
  /// newest epoch stays, and the commit may be tried again.
  void commit(std::int64_t epoch, ByteView payload);
  /// Forgets what is newer than this valid epoch, for good, and what is damaged, which may be newer. @throws
  /// ResourceError
  void roll_back(std::int64_t epoch);

 private:
  struct Block {
    std::int64_t epoch = -1;  // none
    std::int64_t offset = 0, bytes = 0;
    std::uint32_t checksum = 0;
    std::string damage;
    std::string text() const { return damage.empty() ? "it is empty" : damage; }
  };
  Journal(std::string path, std::unique_ptr<RawFile> file) : path_(std::move(path)), file_(std::move(file)) {}
  std::size_t newest_block() const { return blocks_[1].epoch > blocks_[0].epoch ? 1 : 0; }
  std::size_t block_of(std::int64_t epoch) const;
  Block read_header(std::size_t which) const;
  std::string payload_damage(const Block& block) const;
  std::int64_t free_place(std::int64_t bytes) const;
  void write(const void* from, std::int64_t bytes, std::int64_t offset);
  void write_header(std::size_t which, const Block& block);
  void flush();

  std::string path_;
  std::unique_ptr<RawFile> file_;
  std::array<Block, 2> blocks_;
};

}  // namespace hindsight
