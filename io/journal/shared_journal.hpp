// The journals of all ranks, which commit together: an epoch counts when all ranks have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/journal/journal.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// The newest epoch in all of these lists, on all ranks; -1 when there is none. A rank may have several lists (of the
/// journals of more ranks than there are now) or none, if only another rank has one. Collective.
///
/// There is one after any crash, because an epoch e is committed only after all ranks have e-1: let e be the newest
/// epoch whose commit any rank began. That rank had passed the barrier after e-1, so every rank had e-1 on its device,
/// and a rank's commit of e never touches its e-1. So all ranks have e-1, and those have e that finished; the newest
/// common epoch is e or e-1.
std::int64_t agreed_epoch(const Communicator& comm, const std::vector<std::vector<std::int64_t>>& valid);

/// The files of some ranks, one behind the other, in a folder where others have theirs.
struct RankFiles {
  /// @param without_rank the path without the rank's number. @param first_rank the number of the first of these.
  RankFiles(std::string without_rank, int first_rank = 0) : path(std::move(without_rank)), first(first_rank) {}
  std::string path;
  int first;

  /// The file of the rank that is so many ranks behind the first.
  std::string of(int rank) const { return path + "." + std::to_string(first + rank); }
};

/// Every rank has one file, perhaps on its node's own disk. All calls are collective and throw on all ranks together
/// what one of them throws.
class SharedJournal {
 public:
  /// New journals at epoch 0, one by one in place of those of an earlier run, which must not be opened any more.
  /// @throws ResourceError
  static SharedJournal create(FileSystem& files, const RankFiles& paths, const Communicator& comm);
  /// Those of an earlier run on as many ranks, at the newest epoch that all have; epochs of single ranks are
  /// forgotten, so that their numbers can be given again. Missing files are made when no rank had committed anything.
  /// @throws ResourceError when a file is damaged or missing, or when the ranks have no epoch in common.
  static SharedJournal open(FileSystem& files, const RankFiles& paths, const Communicator& comm);

  /// The newest that all ranks have; 0: nothing was committed.
  std::int64_t epoch() const { return journal_.newest(); }
  /// This rank's part of it; empty at epoch 0.
  Bytes load() const;
  /// Each rank gives its part of the next epoch. When this throws, the epoch may be there or not: the journals must be
  /// opened again before anything else is committed.
  void commit(ByteView part);

 private:
  SharedJournal(Journal journal, const Communicator& comm) : journal_(std::move(journal)), comm_(comm) {}
  Journal journal_;
  Communicator comm_;
};

}  // namespace hindsight
