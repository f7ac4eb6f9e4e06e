// The epoch that a run goes on from, as the ranks that wrote it have it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/journal/shared_journal.hpp"
#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// Its payload is in memory as long as this lives.
class KeptEpoch {
 public:
  /// The newest epoch of the journals of as many ranks as now. @param paths of the journals. @returns nothing at epoch
  /// 0. Collective. @throws ResourceError, on all ranks, when it is damaged.
  static std::optional<KeptEpoch> of(const SharedJournal& journal, const RankFiles& paths, const Grid& grid);
  /// The newest epoch that all journals of other ranks have, which are only read: of those, the parts of ranks that
  /// own cells of this one. @param ranks that wrote them. @returns nothing where nothing was committed, or where not
  /// all journals had been made yet. Collective. @throws ResourceError, on all ranks, when one is damaged, or missing
  /// though there are epochs, or when they have no epoch in common.
  static std::optional<KeptEpoch> of_other_ranks(FileSystem& files, const RankFiles& paths, int ranks,
                                                 const Grid& grid);

  std::int64_t number() const { return number_; }
  /// The ranks that reader() reads from, of those whose journals these are.
  const std::vector<int>& ranks() const { return ranks_; }
  BlockReader& reader() { return *reader_; }

 private:
  struct Part {
    int rank;
    Bytes payload;
  };
  KeptEpoch(std::int64_t number, std::vector<Part> parts, const RankFiles& paths, const Grid& grid);

  std::int64_t number_;
  std::vector<int> ranks_;
  std::vector<Bytes> payloads_;
  std::vector<ArchiveReader> archives_;  // of payloads_
  std::unique_ptr<BlockReader> reader_;  // of archives_
};

}  // namespace hindsight
