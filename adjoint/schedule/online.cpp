// Online: the number of steps is not known before the last one. Every step of the first sweep is recorded, so that the
// record is live when the run turns out to end there; the state a step starts from may be kept once it is known that
// the run goes on. With s slots:
//
// - While n <= C(s+2, 2) no step has to be taken more than twice again, and no more forward steps are taken than with n
//   known. That needs s segments, the j-th of at most s-j+1 steps: every state is kept, the first checkpoint whose
//   two neighbouring segments fit into one is given up. (The range is that of Stumm and Walther's r2, SIAM J. Sci.
//   Comput. 32, 2010.)
// - Beyond, the checkpoint is given up whose loss costs least if the run ended after the next step, Revolve reversing
//   each segment with the slots then free; or the new state is not kept. For n <= 2000 this costs at most 1.11 of
//   the optimum with n known (s = 2), 1.02 to 1.05 with more slots.
#include <algorithm>
#include <optional>
#include <vector>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

/// Checkpoints of the first sweep. Segment j begins at checkpoint j, to be reversed with slots() - j slots.
class OnlineCheckpoints {
 public:
  struct Kept {
    std::int64_t step;
    std::int64_t slot;
  };

  explicit OnlineCheckpoints(std::int64_t slots) : slots_(slots) { kept_.reserve(static_cast<std::size_t>(slots)); }
  const CountedVector<Kept>& kept() const { return kept_; }
  std::int64_t slots() const { return slots_; }

  /// The run goes on after step x. @returns the index of the checkpoint to be given up for state x; -1 to keep it in a
  /// free slot; -2 not to keep it.
  std::int64_t choose(std::int64_t x) {
    if (static_cast<std::int64_t>(kept_.size()) < slots_) return -1;
    if (slots_ == 1) return -2;
    return x + 2 <= beta(slots_, 2) ? by_lengths(x) : by_cost(x);
  }

  /// @returns the slot for state x.
  std::int64_t keep(std::int64_t x, std::int64_t instead_of) {
    std::int64_t slot = static_cast<std::int64_t>(kept_.size());
    if (instead_of >= 0) {
      slot = kept_[static_cast<std::size_t>(instead_of)].slot;
      kept_.erase(kept_.begin() + instead_of);
    }
    kept_.push_back({x, slot});
    ended_.reset();
    return slot;
  }

 private:
  std::int64_t length(std::int64_t j, std::int64_t end) const {
    const auto i = static_cast<std::size_t>(j);
    return (i + 1 < kept_.size() ? kept_[i + 1].step : end) - kept_[i].step;
  }

  std::int64_t by_lengths(std::int64_t x) const {
    for (std::int64_t j = 1; j < slots_; ++j)
      if (length(j - 1, x) + length(j, x) <= slots_ - j + 2) return j;
    return -2;
  }

  /// A checkpoint to be given up, and what its loss costs beyond what the last segment gains.
  struct Loss {
    std::int64_t index = -2, steps = endless;
  };

  /// What giving up checkpoint j adds, if no segment behind it gained from the slot that becomes free.
  std::int64_t own_loss(std::int64_t j, std::int64_t x) const {
    const std::int64_t before = length(j - 1, x), own = length(j, x), s = slots_ - j;
    return binomial_plain_steps(before + own, s + 1) - binomial_plain_steps(before, s + 1) -
           binomial_plain_steps(own, s);
  }
  /// What segment j gains from one slot more, as a cost.
  std::int64_t gain(std::int64_t j, std::int64_t x) const {
    const std::int64_t own = length(j, x), s = slots_ - j;
    return binomial_plain_steps(own, s + 1) - binomial_plain_steps(own, s);
  }

  /// The least loss among checkpoints whose segments have both ended: it stays while the checkpoints stay.
  Loss least_of_ended() const {
    Loss least;
    std::int64_t later = 0;
    for (std::int64_t j = slots_ - 2; j >= 1; --j) {
      const std::int64_t loss = own_loss(j, 0) + later;
      if (loss <= least.steps) least = {j, loss};
      later += gain(j, 0);
    }
    return least;
  }

  /// Compares what the segments up to state x+1 cost; only differences to the checkpoints as they are matter.
  std::int64_t by_cost(std::int64_t x) {
    // Not keeping x: the last segment, with one slot, is one step longer.
    const std::int64_t last = length(slots_ - 1, x);
    const std::int64_t skip = binomial_plain_steps(last + 1, 1) - binomial_plain_steps(last, 1);
    Loss best{-2, skip};
    if (const std::int64_t loss = own_loss(slots_ - 1, x); loss <= best.steps) best = {slots_ - 1, loss};
    if (!ended_) ended_ = least_of_ended();
    if (ended_->index >= 0)
      if (const std::int64_t loss = ended_->steps + gain(slots_ - 1, x); loss <= best.steps)
        best = {ended_->index, loss};
    return best.steps < skip ? best.index : -2;
  }

  std::int64_t slots_;
  CountedVector<Kept> kept_;   // by step
  std::optional<Loss> ended_;  // of kept_ as it is
};

ActionStream actions(std::int64_t slots) {
  OnlineCheckpoints checkpoints(slots);
  co_await OneAtATime{};
  std::int64_t n = unknown_steps;
  for (std::int64_t x = 0; n == unknown_steps; ++x) {
    co_yield Record{x};
    n = co_await EndOfRun{};
    if (n != unknown_steps) break;
    const std::int64_t instead_of = checkpoints.choose(x);
    if (instead_of == -2) continue;
    if (instead_of >= 0) {
      const Slot slot{Tier::host, checkpoints.kept()[static_cast<std::size_t>(instead_of)].slot};
      co_yield Release{slot};
    }
    const Slot slot{Tier::host, checkpoints.keep(x, instead_of)};
    co_yield Save{slot, x, Content::state};
  }
  co_yield Turn{n};
  co_yield Reverse{n - 1};
  CountedVector<Slot> free;
  free.reserve(static_cast<std::size_t>(slots));
  for (std::int64_t i = static_cast<std::int64_t>(checkpoints.kept().size()); i < slots; ++i)
    free.push_back({Tier::host, i});
  std::int64_t end = n - 1;
  for (std::size_t j = checkpoints.kept().size(); j-- > 0;) {
    const OnlineCheckpoints::Kept own = checkpoints.kept()[j];
    const Slot slot{Tier::host, own.slot};
    BinomialSweep sweep({own.step, end, slots - static_cast<std::int64_t>(j), -1, false, true}, {slot, free.data()});
    for (ActionBatch batch; sweep.next(batch);)
      for (const Action& action : batch) co_yield action;
    co_yield Release{slot};
    free.push_back(slot);
    end = own.step;
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t most = request.steps == unknown_steps ? request.at_most : request.steps;
  if (request.steps != unknown_steps) require_known_steps("online", request);
  const std::int64_t slots = take_host_slots("online", request, 1, std::max<std::int64_t>(1, most - 1));
  Schedule schedule{{}, [slots] { return actions(slots); }};
  schedule.predicted.plain = schedule.predicted.recorded = schedule.predicted.reversed = unpredicted;
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  schedule.predicted.peak = only_host(slots);
  return schedule;
}

ScheduleMemory memory(const ScheduleRequest& request) {
  const std::int64_t most = request.steps == unknown_steps ? request.at_most : request.steps;
  const std::int64_t slots = useful_of(request.capacities[Tier::host], most);
  constexpr auto each = static_cast<std::int64_t>(sizeof(OnlineCheckpoints::Kept) + sizeof(Slot));
  return {slots * each + BinomialSweep::bytes(most, slots), 0};
}

}  // namespace

ScheduleKind online_schedule() {
  return {"online", "the number of steps is not known in advance; near the optimum for any",
          make,     true,
          nullptr,  nullptr,
          false,    memory};
}

}  // namespace hindsight
