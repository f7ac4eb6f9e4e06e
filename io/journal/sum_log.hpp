// Parts of the sum over the shots of an evaluation that wait for others, and for which there is no memory.
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

/// One file per rank (EntryLog), made when the first part is put there. Which entries count is what epochs say that
/// name their places. What is collective throws on all ranks what it throws on one: ResourceError, naming the file.
class SumLog {
 public:
  /// Opens nothing yet. @param path of the file that this rank writes. @param files, entries must outlive this.
  SumLog(FileSystem& files, std::string path, const Communicator& comm, BlockEntries& entries)
      : files_(files), path_(std::move(path)), comm_(comm), entries_(entries) {}

  /// An evaluation begins of which nothing is kept. The file begins again, too, unless the newest epoch, `newest`,
  /// names places in it.
  void restart(std::int64_t newest);
  /// Adds what `write` writes. @returns its place in this rank's file. Collective.
  std::int64_t put(const std::function<void(BlockWriter&)>& write);
  /// Lets `read` read what lies at a place. Collective.
  void get(std::int64_t place, const std::function<void(BlockReader&)>& read);

  /// How far the file goes, for an epoch.
  void save(ArchiveWriter& to) const { to.write(own_ ? own_->end() : std::int64_t{0}); }
  /// The epoch that is being written names a place.
  void name() { is_named_ = true; }
  /// That epoch is there.
  void committed(std::int64_t epoch) {
    if (std::exchange(is_named_, false)) named_by_ = epoch;
  }
  /// What was put there has reached the device. On this rank alone.
  void flush() {
    if (own_) own_->flush();
  }
  /// Goes on with the file as an epoch has it, of this rank alone.
  void restore(std::int64_t end, std::int64_t epoch);

 private:
  FileSystem& files_;
  std::string path_;
  Communicator comm_;
  BlockEntries& entries_;
  std::optional<EntryLog> own_;
  bool is_named_ = false;
  std::int64_t named_by_ = 0;  // the newest epoch that names places
};

/// Such files of the ranks of an earlier process that own cells of this one.
class EarlierSums {
 public:
  /// @param files, entries must outlive this.
  EarlierSums(FileSystem& files, std::vector<std::string> paths, const BlockEntries& entries)
      : files_(files), paths_(std::move(paths)), entries_(entries) {}
  /// Lets `read` read what lies at a place in each of them. On this rank alone. @throws ResourceError
  void get(const std::vector<std::int64_t>& places, const std::function<void(BlockReader&)>& read) const;

 private:
  FileSystem& files_;
  std::vector<std::string> paths_;
  const BlockEntries& entries_;
};

}  // namespace hindsight
