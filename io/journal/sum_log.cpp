#include "io/journal/sum_log.hpp"

namespace hindsight {

void SumLog::restart(std::int64_t newest) {
  if (own_ && newest > named_by_) own_.reset();
}

std::int64_t SumLog::put(const std::function<void(BlockWriter&)>& write) {
  std::int64_t place = 0;
  comm_.together([&] {
    if (!own_) own_ = EntryLog::create(files_, path_);
    place = entries_.append(*own_, write);
  });
  return place;
}

void SumLog::get(std::int64_t place, const std::function<void(BlockReader&)>& read) {
  comm_.together([&] { entries_.read({own_->read(place)}, "'" + path_ + "'", read); });
}

void SumLog::restore(std::int64_t end, std::int64_t epoch) {
  if (end == 0) return;
  own_ = EntryLog::open(files_, path_, end, OpenMode::existing);
  named_by_ = epoch;
}

void EarlierSums::get(const std::vector<std::int64_t>& places, const std::function<void(BlockReader&)>& read) const {
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    std::int64_t at = places[i];
    parts.push_back(EntryLog::open(files_, paths_[i], -1, OpenMode::read_only).read(at));
  }
  entries_.read(parts, "the sums over shots", read);
}

}  // namespace hindsight
