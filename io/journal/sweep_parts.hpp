// Checkpoints that were in memory when a run was stopped on request: large, and worth less than the epoch itself.
//
//   PATH-(0|1).RANK   a log of entries (EntryLog), each with the number of its epoch first
//
// Epochs take turns with two files, as with the blocks of a journal: while those of an epoch are written, those of the
// epoch before are whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/journal/block_entries.hpp"

namespace hindsight {

/// What one rank keeps of a sweep outside of the epoch's payload. Calls throw ResourceError, on this rank alone.
class SweepParts {
 public:
  /// @param path of the files, without the ends of their names. @param files, entries must outlive this.
  SweepParts(FileSystem& files, std::string path, int rank, BlockEntries& entries)
      : files_(files), path_(std::move(path)), rank_(rank), entries_(entries) {}
  static std::string file(const std::string& path, std::int64_t epoch, int rank);

  /// @param bytes of a unit of memory, at most, on any rank.
  void expect(std::int64_t bytes) { unit_bytes_ = bytes + head_bytes; }
  /// Bytes that so many units take in the file, about.
  std::int64_t bytes_of(std::int64_t units) const { return units * unit_bytes_; }
  /// Whether epochs have parts from now on.
  void want(bool yes) { are_wanted_ = yes; }
  bool are_wanted() const { return are_wanted_; }
  /// Units to be given to keep() at once, at most: small ones together, large ones one by one; 0: parts are not wanted.
  std::int64_t units_at_once() const;

  /// An epoch is going to be written. What its file holds, which is of the epoch before the last or of a process that
  /// died, goes.
  void begin(std::int64_t epoch);
  /// Writes a piece. @returns its place, for read().
  std::int64_t keep(const std::function<void(BlockWriter&)>& write);
  /// What was kept has reached the device.
  void flush();

  /// The epoch that the run goes on from may have parts. @param path of the files then. @param ranks that had cells of
  /// this rank: only where it is one alone, parts can be of use.
  void open(std::int64_t epoch, const std::string& path, const std::vector<int>& ranks);
  /// Lets `read` read the piece at a place, which moves to the next one.
  void read(std::int64_t& place, const std::function<void(BlockReader&)>& read) const;
  /// All is read.
  void close() { earlier_.reset(); }

 private:
  /// What a unit takes in a file beside its cells, about.
  static constexpr std::int64_t head_bytes = 96;
  FileSystem& files_;
  std::string path_;
  int rank_;
  BlockEntries& entries_;
  std::optional<EntryLog> own_, earlier_;
  std::int64_t epoch_ = 0, earlier_epoch_ = 0, unit_bytes_ = 0;
  bool are_wanted_ = false;
};

}  // namespace hindsight
