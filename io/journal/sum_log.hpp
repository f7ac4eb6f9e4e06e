// What an evaluation has worked out and has no memory for, or writes once for all epochs to come: parts of the sum over
// its shots that wait for others; what the steps of a sweep left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/journal/block_entries.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// Two files per rank (EntryLog), which evaluations use by turns: one begins that which the newest epoch does not name.
/// Which entries count is what an epoch says that names their places. What is collective throws on all ranks what it
/// throws on one: ResourceError, naming the file.
class SumLog {
 public:
  /// Opens nothing yet. @param path of this rank's files, without "-0.RANK" and "-1.RANK". @param files, entries must
  /// outlive this.
  SumLog(FileSystem& files, std::string path, int rank, const Communicator& comm, BlockEntries& entries)
      : files_(files), path_(std::move(path)), rank_(rank), comm_(comm), entries_(entries) {}

  static std::string path_of(const std::string& path, int file, int rank) {
    return path + "-" + std::to_string(file) + "." + std::to_string(rank);
  }
  /// An evaluation begins of which nothing is kept.
  void restart();
  /// Whether put() can be called; else open() makes the file. Collective.
  bool is_open() const { return own_.has_value(); }
  void open();
  /// Adds what `write` writes. @returns its place in this rank's file. Collective.
  std::int64_t put(const std::function<void(BlockWriter&)>& write);
  /// The same on this rank alone; makes the file if need be.
  std::int64_t put_here(const std::function<void(BlockWriter&)>& write);
  /// Lets `read` read what lies at a place. Collective.
  void get(std::int64_t place, const std::function<void(BlockReader&)>& read);

  /// Which of the files has the places, for an epoch that names any.
  int file() const { return file_; }
  /// What was put there has reached the device. On this rank alone.
  void flush() {
    if (own_) own_->flush();
  }
  /// There is an epoch, which may name places of the evaluation under way.
  void committed() { named_ = own_ ? std::optional(file_) : std::nullopt; }
  /// Goes on with a file that an epoch names. On this rank alone.
  void restore(int file);
  /// The newest epoch names this file: what is put from now on goes to the other one. On this rank alone.
  void leave(int file);

 private:
  std::string path() const { return path_of(path_, file_, rank_); }
  FileSystem& files_;
  std::string path_;
  int rank_;
  Communicator comm_;
  BlockEntries& entries_;
  std::optional<EntryLog> own_;
  int file_ = 0;
  std::optional<int> named_;  // the file that the newest epoch may name
};

/// Such files of the ranks of an earlier process that own cells of this one.
class EarlierSums {
 public:
  /// @param path without "-0.RANK" and "-1.RANK". @param files, entries must outlive this.
  EarlierSums(FileSystem& files, std::string path, std::vector<int> ranks, const BlockEntries& entries)
      : files_(files), path_(std::move(path)), ranks_(std::move(ranks)), entries_(entries) {}
  /// Lets `read` read what lies at a place in the file of each of them. On this rank alone. @throws ResourceError
  void get(int file, const std::vector<std::int64_t>& places, const std::function<void(BlockReader&)>& read) const;

 private:
  FileSystem& files_;
  std::string path_;
  std::vector<int> ranks_;
  const BlockEntries& entries_;
};

}  // namespace hindsight
