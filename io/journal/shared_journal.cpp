#include "io/journal/shared_journal.hpp"

#include <algorithm>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

std::int64_t newest_up_to(std::int64_t limit, const std::vector<std::int64_t>& valid) {
  std::int64_t newest = -1;
  for (const std::int64_t epoch : valid)
    if (epoch <= limit) newest = std::max(newest, epoch);
  return newest;
}

}  // namespace

std::int64_t agreed_epoch(const Communicator& comm, const std::vector<std::vector<std::int64_t>>& valid) {
  // No common epoch is newer than the newest up to it in any list: the limit falls until all lists have it.
  for (std::int64_t limit = std::numeric_limits<std::int64_t>::max();;) {
    std::int64_t least = limit;
    for (const auto& epochs : valid) least = std::min(least, newest_up_to(limit, epochs));
    least = -comm.max(-least);
    if (least == limit || least < 0) return least;
    limit = least;
  }
}

SharedJournal SharedJournal::create(FileSystem& files, const RankFiles& paths, const Communicator& comm) {
  std::optional<Journal> journal;
  comm.together([&] { journal = Journal::create(files, paths.of(comm.rank())); });
  return {std::move(*journal), comm};
}

SharedJournal SharedJournal::open(FileSystem& files, const RankFiles& paths, const Communicator& comm) {
  const std::string mine = paths.of(comm.rank());
  std::optional<Journal> journal;
  comm.together([&] { journal = Journal::open(files, mine); });
  const bool is_new = comm.max(journal ? journal->newest() : 0) == 0;
  comm.together([&] {
    if (!journal && !is_new) throw ResourceError("the journal '" + mine + "' is missing; other ranks have theirs");
    if (!journal) journal = Journal::create(files, mine);
  });
  const std::int64_t agreed = agreed_epoch(comm, {journal->epochs()});
  comm.together([&] {
    if (agreed < 0)
      throw ResourceError(
          "the journals '" + paths.of(0) + "' and those of the other ranks have no epoch in common" +
          (journal->damage().empty() ? "" : "; in '" + mine + "' one is damaged: " + journal->damage()));
    journal->roll_back(agreed);
  });
  return {std::move(*journal), comm};
}

Bytes SharedJournal::load() const {
  Bytes part;
  comm_.together([&] { part = journal_.load(journal_.newest()); });
  return part;
}

void SharedJournal::commit(ByteView part) {
  comm_.together([&] { journal_.commit(journal_.newest() + 1, part); });
}

}  // namespace hindsight
