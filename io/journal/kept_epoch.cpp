#include "io/journal/kept_epoch.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/journal/block_entries.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

struct EarlierJournals {
  std::vector<Journal> journals;
  std::int64_t epoch = 0;  ///< that all have
};

/// Every rank reads all: a part of the grid may come from any of them.
EarlierJournals read_journals(FileSystem& files, const RankFiles& paths, int ranks, const Communicator& comm) {
  EarlierJournals earlier;
  std::string missing;
  comm.together([&] {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string file = paths.of(rank);
      auto journal = Journal::open(files, file, OpenMode::read_only);
      journal ? earlier.journals.push_back(std::move(*journal)) : void(missing = file);
    }
    const bool is_new =
        std::all_of(earlier.journals.begin(), earlier.journals.end(), [](auto& j) { return j.newest() == 0; });
    if (!missing.empty() && !is_new) throw ResourceError("the journal '" + missing + "' is missing");
  });
  std::vector<std::vector<std::int64_t>> epochs;
  for (const Journal& journal : earlier.journals) epochs.push_back(journal.epochs());
  if (comm.any(!missing.empty())) return earlier;  // killed before all were made
  earlier.epoch = agreed_epoch(comm, epochs);
  if (earlier.epoch < 0)
    throw ResourceError("the journals in '" + std::filesystem::path(paths.path).parent_path().string() +
                        "' have no epoch in common");
  return earlier;
}

/// The text that errors name an archive with.
std::string source(const RankFiles& paths, int rank) {
  return "the journal '" + paths.of(rank) + "'";
}

}  // namespace

KeptEpoch::KeptEpoch(std::int64_t number, std::vector<Part> parts, const RankFiles& paths, const Grid& grid)
    : number_(number) {
  for (Part& part : parts) {
    ranks_.push_back(part.rank);
    payloads_.push_back(std::move(part.payload));
  }
  std::vector<ArchiveReader*> readers;
  for (std::size_t i = 0; i < payloads_.size(); ++i)
    archives_.emplace_back(payloads_[i], BlockEntries::version, source(paths, ranks_[i]));
  for (ArchiveReader& archive : archives_) readers.push_back(&archive);
  reader_ = std::make_unique<BlockReader>(std::move(readers), grid);
}

std::optional<KeptEpoch> KeptEpoch::of(const SharedJournal& journal, const RankFiles& paths, const Grid& grid) {
  if (journal.epoch() == 0) return std::nullopt;
  const Communicator& comm = grid.communicator();
  std::vector<Part> parts;
  parts.push_back({comm.rank(), journal.load()});
  std::optional<KeptEpoch> kept;
  comm.together([&] { kept = KeptEpoch(journal.epoch(), std::move(parts), paths, grid); });
  return kept;
}

std::optional<KeptEpoch> KeptEpoch::of_other_ranks(FileSystem& files, const RankFiles& paths, int ranks,
                                                   const Grid& grid) {
  const Communicator& comm = grid.communicator();
  const EarlierJournals earlier = read_journals(files, paths, ranks, comm);
  if (earlier.epoch == 0) return std::nullopt;
  std::optional<KeptEpoch> kept;
  comm.together([&] {
    std::vector<Part> parts;
    for (int rank = 0; rank < ranks; ++rank) {
      Bytes payload = earlier.journals[static_cast<std::size_t>(rank)].load(earlier.epoch);
      if (BlockReader::owns_any(ArchiveReader(payload, BlockEntries::version, source(paths, rank)), grid))
        parts.push_back({rank, std::move(payload)});
    }
    kept = KeptEpoch(earlier.epoch, std::move(parts), paths, grid);
  });
  return kept;
}

}  // namespace hindsight
