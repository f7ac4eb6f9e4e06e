#include "io/journal/sum_log.hpp"

namespace hindsight {

void SumLog::restart() {
  own_.reset();
  file_ = named_ == 0 ? 1 : 0;
}

void SumLog::open() {
  comm_.together([&] { own_ = EntryLog::create(files_, path()); });
}

std::int64_t SumLog::put(const std::function<void(BlockWriter&)>& write) {
  std::int64_t place = 0;
  comm_.together([&] { place = entries_.append(*own_, write); });
  return place;
}

std::int64_t SumLog::put_here(const std::function<void(BlockWriter&)>& write) {
  if (!own_) own_ = EntryLog::create(files_, path());
  return entries_.append(*own_, write);
}

void SumLog::get(std::int64_t place, const std::function<void(BlockReader&)>& read) {
  comm_.together([&] { entries_.read({own_->read(place)}, "'" + path() + "'", read); });
}

void SumLog::restore(int file) {
  file_ = file;
  named_ = file;
  own_ = EntryLog::open(files_, path(), -1, OpenMode::existing);  // what no epoch names stays, too
}

void SumLog::leave(int file) {
  named_ = file;
  restart();
}

void EarlierSums::get(int file, const std::vector<std::int64_t>& places,
                      const std::function<void(BlockReader&)>& read) const {
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::string path = SumLog::path_of(path_, file, ranks_[i]);
    std::int64_t at = places[i];
    parts.push_back(EntryLog::open(files_, path, -1, OpenMode::read_only).read(at));
  }
  entries_.read(parts, "'" + path_ + "'", read);
}

}  // namespace hindsight
