#include "adjoint/sweep/prefetch.hpp"

#include <utility>

namespace hindsight {
namespace {

constexpr std::int64_t farthest = 1 << 16;  // actions ahead
constexpr std::int64_t at_once = 8;         // looked at while one is executed

/// The slot that an action loads from; nullptr: none.
const Slot* loaded(const Action& action) {
  if (const auto* load = std::get_if<Load>(&action)) return &load->slot;
  if (const auto* move = std::get_if<Move>(&action)) return &move->from;
  return nullptr;
}

const Slot* saved(const Action& action) {
  if (const auto* save = std::get_if<Save>(&action)) return &save->slot;
  if (const auto* move = std::get_if<Move>(&action)) return &move->to;
  return nullptr;
}

}  // namespace

Prefetcher::Prefetcher(ActionStream ahead, int most, const PerTier& slots)
    : stream_(std::move(ahead)), most_(static_cast<std::size_t>(most)) {
  coming_.reserve(most_ + 1);
  for (std::size_t t = 0; t < tier_count; ++t) saved_at_[t].assign(static_cast<std::size_t>(slots[t]), -1);
}

void Prefetcher::look_ahead() {
  for (std::int64_t i = 0; i < at_once && coming_.size() < most_ && !has_ended_ && ahead_ < position_ + farthest; ++i) {
    const Action* action = stream_.next();
    if (action == nullptr) {
      has_ended_ = true;
      return;
    }
    look_at(*action);
    ++ahead_;
  }
}

void Prefetcher::look_at(const Action& action) {
  if (const Slot* slot = loaded(action); slot != nullptr && is_slow(*slot))
    coming_.push_back({*slot, saved_at(*slot), false});
  if (const Slot* slot = saved(action); slot != nullptr && is_slow(*slot)) saved_at(*slot) = ahead_;
}

void Prefetcher::follow(const Action& action) {
  if (ahead_ == position_) {  // it may not fall behind
    if (const Action* same = stream_.next()) look_at(*same);
    ++ahead_;
  }
  ++position_;
  const Slot* slot = loaded(action);
  if (slot != nullptr && is_slow(*slot) && !coming_.empty()) coming_.erase(coming_.begin());
}

}  // namespace hindsight
