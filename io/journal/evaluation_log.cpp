#include "io/journal/evaluation_log.hpp"

#include <utility>

namespace hindsight {

void EvaluationLog::begin() {
  if (writes_ && !own_) comm_.together([&] { own_ = EntryLog::create(files_, path_); });
}

void EvaluationLog::save(ArchiveWriter& to) const {
  to.write(count_);
  to.write(writes_ ? own_->end() : std::int64_t{0});
}

void EvaluationLog::save_void(ArchiveWriter& to) {
  to.write(std::int64_t{-1});
  to.write(std::int64_t{0});
}

std::int64_t EvaluationLog::pass_over(BlockReader& from) {
  const auto entries = from.get<std::int64_t>();
  from.all<std::int64_t>();
  return entries;
}

std::int64_t EvaluationLog::restore(BlockReader& from, const std::vector<std::string>& earlier) {
  recalled_ = left_ = from.get<std::int64_t>();
  const std::vector<std::int64_t> ends = from.all<std::int64_t>();
  if (has_next())
    for (const std::string& path : earlier) earlier_.push_back({EntryLog::open(files_, path, -1, OpenMode::read_only)});
  is_new_ = earlier != std::vector{path_};
  if (is_new_) return recalled_;
  count_ = left_;
  own_ = EntryLog::open(files_, path_, ends[0], OpenMode::existing);
  return recalled_;
}

bool EvaluationLog::recall(const std::function<void(BlockReader&)>& read) {
  if (!has_next()) return false;
  comm_.together([&] {
    std::vector<Bytes> parts;
    for (Earlier& rank : earlier_) parts.push_back(rank.log.read(rank.next));
    entries_.read(parts, "the log of evaluations", read);
  });
  if (--left_ == 0) earlier_.clear();
  return true;
}

void EvaluationLog::evaluate_again() {
  if (!has_next()) return;
  if (!is_new_) {
    count_ -= left_;
    comm_.together([&] { own_ = EntryLog::open(files_, path_, earlier_[0].next, OpenMode::existing); });
  }
  left_ = 0;
  earlier_.clear();
}

void EvaluationLog::add(const std::function<void(BlockWriter&)>& write) {
  if (writes_) comm_.together([&] { entries_.append(*own_, write); });
  ++count_;
}

}  // namespace hindsight
