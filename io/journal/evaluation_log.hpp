// What a run has evaluated: a process that goes on with the run is given the entries in place of evaluations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/journal/block_entries.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// One file per rank (EntryLog). How many entries count is what save() writes into an epoch; what lies behind them is
/// of a process that was killed before its next epoch. All but save() and restore() is collective, and throws on all
/// ranks what it throws on one: ResourceError, naming the file.
class EvaluationLog {
 public:
  /// Opens nothing yet. @param path of the file that this rank writes. @param files, entries must outlive this.
  /// @param writes false: others write what is added, which is counted here.
  EvaluationLog(FileSystem& files, std::string path, const Communicator& comm, BlockEntries& entries,
                bool writes = true)
      : files_(files), path_(std::move(path)), comm_(comm), entries_(entries), writes_(writes) {}

  /// The log of this rank, empty, unless restore() has found it.
  void begin();
  /// How far the log counts: its entries, and the bytes of this rank's file.
  void save(ArchiveWriter& to) const;
  /// In place of that, what no log has.
  static void save_void(ArchiveWriter& to);
  /// Goes on with the log as an epoch has it. @param earlier files of the ranks before that own cells of this rank, in
  /// the order of `from`. Where this rank writes another file than these, the log is new. On this rank alone.
  /// @returns how many entries it has.
  std::int64_t restore(BlockReader& from, const std::vector<std::string>& earlier);
  /// Leaves out what save() wrote. @returns how many entries the log had.
  static std::int64_t pass_over(BlockReader& from);

  /// Lets `read` read the next entry of the log, if one is left. @returns whether there was one.
  bool recall(const std::function<void(BlockReader&)>& read);
  /// Whether recall() will give an entry.
  bool has_next() const { return left_ > 0; }
  /// Entries that the process before had worked out.
  std::int64_t recalled() const { return recalled_; }
  /// Whether entries that recall() gives have to be added again.
  bool is_new() const { return is_new_; }
  /// Forgets the entries that are left: they are evaluated again.
  void evaluate_again();
  /// Adds the entry that `write` writes.
  void add(const std::function<void(BlockWriter&)>& write);
  /// Entries of the log.
  std::int64_t count() const { return count_; }
  /// What was added has reached the device. On this rank alone.
  void flush() {
    if (writes_) own_->flush();
  }

 private:
  /// What one earlier rank wrote, and where its next entry begins.
  struct Earlier {
    EntryLog log;
    std::int64_t next = 0;
  };
  FileSystem& files_;
  std::string path_;
  Communicator comm_;
  BlockEntries& entries_;
  bool writes_;
  std::optional<EntryLog> own_;
  std::vector<Earlier> earlier_;  // while entries are left
  std::int64_t count_ = 0, left_ = 0, recalled_ = 0;
  bool is_new_ = true;
};

}  // namespace hindsight
