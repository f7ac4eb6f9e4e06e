#include "io/journal/sweep_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/error.hpp"

namespace hindsight {

std::string SweepParts::file(const std::string& path, std::int64_t epoch, int rank) {
  return fmt::format("{}-{}.{}", path, epoch % 2, rank);
}

std::int64_t SweepParts::units_at_once() const {
  constexpr std::int64_t together = 64 << 10;  // bytes
  return are_wanted_ ? std::clamp<std::int64_t>(together / std::max<std::int64_t>(1, unit_bytes_), 1, 256) : 0;
}

void SweepParts::begin(std::int64_t epoch) {
  own_.reset();
  epoch_ = epoch;
  files_.remove(file(path_, epoch, rank_));
}

std::int64_t SweepParts::keep(const std::function<void(BlockWriter&)>& write) {
  if (!own_) own_ = EntryLog::create(files_, file(path_, epoch_, rank_));
  return entries_.append(*own_, [&](BlockWriter& to) {
    to.archive().write(epoch_);
    write(to);
  });
}

void SweepParts::flush() {
  if (own_) own_->flush();
}

void SweepParts::open(std::int64_t epoch, const std::string& path, const std::vector<int>& ranks) {
  earlier_epoch_ = epoch;
  if (ranks.size() != 1) return;
  const std::string name = file(path, epoch, ranks[0]);
  if (std::filesystem::exists(name)) earlier_ = EntryLog::open(files_, name, -1, OpenMode::read_only);
}

void SweepParts::read(std::int64_t& place, const std::function<void(BlockReader&)>& read) const {
  if (!earlier_) throw ResourceError("the file of checkpoints '" + path_ + "-*' is missing");
  entries_.read({earlier_->read(place)}, "the file of checkpoints", [&](BlockReader& from) {
    if (from.get<std::int64_t>() != earlier_epoch_) throw ResourceError("the file of checkpoints is of a later epoch");
    read(from);
  });
}

}  // namespace hindsight
