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
//
// Where there is room for records too, those of the last steps are kept beside these states, the latest one in the
// place of the oldest: a run that is no longer than foreseen takes no step again, one that grows longer goes on.
#include <algorithm>
#include <optional>
#include <vector>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "adjoint/schedule/level_counts.hpp"

namespace hindsight {
namespace {

/// Checkpoints of the first sweep, a list by step. Segment j begins at checkpoint j, to be reversed with slots() - j
/// slots.
class OnlineCheckpoints {
 public:
  struct Kept {
    std::int64_t step = 0;
    std::int32_t before = none, behind = none;  ///< slots of its neighbours
  };
  static constexpr std::int32_t none = -1;
  static constexpr std::int64_t most_slots = (std::int64_t{1} << 31U) - 1;

  explicit OnlineCheckpoints(std::int64_t slots) : slots_(slots) { kept_.reserve(static_cast<std::size_t>(slots)); }
  std::int64_t slots() const { return slots_; }
  std::int64_t count() const { return std::ssize(kept_); }
  std::int32_t latest() const { return latest_; }
  /// What is in a slot.
  const Kept& operator[](std::int64_t slot) const { return kept_[static_cast<std::size_t>(slot)]; }

  /// The run goes on after step x. @returns the slot of the checkpoint to be given up for state x; -1 to keep it in a
  /// free slot; -2 not to keep it.
  std::int64_t choose(std::int64_t x) {
    if (count() < slots_) return -1;
    if (slots_ == 1) return -2;
    return x + 2 <= beta(slots_, 2) ? by_lengths(x) : by_cost(x);
  }

  /// @returns the slot for state x.
  std::int64_t keep(std::int64_t x, std::int64_t instead_of) {
    const auto slot = static_cast<std::int32_t>(instead_of >= 0 ? instead_of : count());
    if (instead_of >= 0) {
      take_out(slot);
    } else {
      kept_.emplace_back();
    }
    at(slot) = {x, latest_, none};
    if (latest_ != none) at(latest_).behind = slot;
    latest_ = slot;
    ended_.reset();
    return slot;
  }

 private:
  Kept& at(std::int32_t slot) { return kept_[static_cast<std::size_t>(slot)]; }
  /// Never the first one.
  void take_out(std::int32_t slot) {
    const Kept gone = at(slot);
    at(gone.before).behind = gone.behind;
    (gone.behind == none ? latest_ : at(gone.behind).before) = gone.before;
  }

  /// Of the segment that begins there.
  std::int64_t length(std::int64_t slot, std::int64_t end) const {
    const Kept& own = (*this)[slot];
    return (own.behind == none ? end : (*this)[own.behind].step) - own.step;
  }

  /// What did not fit into one segment never will, for segments only grow: those before are not looked at again.
  std::int64_t by_lengths(std::int64_t x) {
    for (std::int32_t slot = none; (slot = at(before_).behind) != none; before_ = slot, ++index_)
      if (length(before_, x) + length(slot, x) <= slots_ - index_ + 2) return slot;
    return -2;
  }

  /// A checkpoint to be given up, and what its loss costs beyond what the last segment gains.
  struct Loss {
    std::int64_t slot = -2, steps = endless;
  };

  /// What giving up checkpoint j adds, if no segment behind it gained from the slot that becomes free.
  std::int64_t own_loss(std::int64_t slot, std::int64_t j, std::int64_t x) const {
    const std::int64_t before = length((*this)[slot].before, x), own = length(slot, x), s = slots_ - j;
    return binomial_plain_steps(before + own, s + 1) - binomial_plain_steps(before, s + 1) -
           binomial_plain_steps(own, s);
  }
  /// What segment j gains from one slot more, as a cost.
  std::int64_t gain(std::int64_t slot, std::int64_t j, std::int64_t x) const {
    const std::int64_t own = length(slot, x), s = slots_ - j;
    return binomial_plain_steps(own, s + 1) - binomial_plain_steps(own, s);
  }

  /// The least loss among checkpoints whose segments have both ended: it stays while the checkpoints stay.
  Loss least_of_ended() const {
    Loss least;
    std::int64_t later = 0, slot = (*this)[latest_].before;
    for (std::int64_t j = slots_ - 2; j >= 1; --j, slot = (*this)[slot].before) {
      const std::int64_t loss = own_loss(slot, j, 0) + later;
      if (loss <= least.steps) least = {slot, loss};
      later += gain(slot, j, 0);
    }
    return least;
  }

  /// Compares what the segments up to state x+1 cost; only differences to the checkpoints as they are matter.
  std::int64_t by_cost(std::int64_t x) {
    // Not keeping x: the last segment, with one slot, is one step longer.
    const std::int64_t last = length(latest_, x);
    const std::int64_t skip = binomial_plain_steps(last + 1, 1) - binomial_plain_steps(last, 1);
    Loss best{-2, skip};
    if (const std::int64_t loss = own_loss(latest_, slots_ - 1, x); loss <= best.steps) best = {latest_, loss};
    if (!ended_) ended_ = least_of_ended();
    if (ended_->slot >= 0)
      if (const std::int64_t loss = ended_->steps + gain(latest_, slots_ - 1, x); loss <= best.steps)
        best = {ended_->slot, loss};
    return best.steps < skip ? best.slot : -2;
  }

  std::int64_t slots_;
  CountedVector<Kept> kept_;  // by slot
  std::int32_t latest_ = none;
  // The latest checkpoint that stays because of lengths, and the index of the one behind it.
  std::int32_t before_ = 0;
  std::int64_t index_ = 1;
  std::optional<Loss> ended_;  // of kept_ as it is
};

/// How memory is divided: slots of states, then records of so many units each.
struct Places {
  std::int64_t states = 0, records = 0, units = 1;
  std::int64_t all() const { return saturating_sum(states, saturating_product(records, units)); }
  Slot of_record(std::int64_t step) const { return {Tier::host, states + step % records * units}; }
};

ActionStream actions(Places places) {
  const std::int64_t slots = places.states;
  OnlineCheckpoints checkpoints(slots);
  co_await OneAtATime{};
  std::int64_t n = unknown_steps;
  for (std::int64_t x = 0; n == unknown_steps; ++x) {
    co_yield Record{x};
    n = co_await EndOfRun{};
    if (n != unknown_steps) break;
    if (places.records > 0) {
      if (x >= places.records) co_yield Release{places.of_record(x)};
      co_yield Save{places.of_record(x), x, Content::record};
    }
    if (slots == 0) continue;
    const std::int64_t instead_of = checkpoints.choose(x);
    if (instead_of == -2) continue;
    if (instead_of >= 0) co_yield Release{Slot{Tier::host, instead_of}};
    const Slot slot{Tier::host, checkpoints.keep(x, instead_of)};
    co_yield Save{slot, x, Content::state};
  }
  co_yield Turn{n};
  co_yield Reverse{n - 1};
  std::int64_t end = n - 1;
  for (; places.records > 0 && end > 0 && end > n - 1 - places.records; --end) {
    co_yield Load{places.of_record(end - 1), end - 1, Content::record};
    co_yield Reverse{end - 1};
    co_yield Release{places.of_record(end - 1)};
  }
  CountedVector<Slot> free;  // as many as can be of use
  const std::int64_t useful = std::min(slots, checkpoints.count() + end);
  free.reserve(static_cast<std::size_t>(useful));
  for (std::int64_t i = checkpoints.count(); i < useful; ++i) free.push_back({Tier::host, i});
  std::int64_t j = checkpoints.count();
  for (std::int64_t i = checkpoints.latest(); i != OnlineCheckpoints::none; i = checkpoints[i].before) {
    const std::int64_t begin = checkpoints[i].step;
    const Slot slot{Tier::host, i};
    --j;
    if (begin < end) {
      const std::int64_t own = std::min(slots - j, std::ssize(free) + 1);
      BinomialSweep sweep({begin, end, own, -1, false, true}, {slot, free.data()});
      for (ActionBatch batch; sweep.next(batch);)
        for (const Action& action : batch) co_yield action;
      end = begin;
    }
    co_yield Release{slot};
    free.push_back(slot);
  }
  co_yield Done{};
}

std::int64_t most_steps(const ScheduleRequest& request) {
  return request.steps == unknown_steps ? request.at_most : request.steps;
}

/// Records have what they are given, states the rest; where nothing is said, half of the memory is the records', unless
/// all fit.
Places divide(const ScheduleRequest& request) {
  const std::int64_t most = most_steps(request);
  const std::int64_t useful = std::clamp<std::int64_t>(most - 1, 1, OnlineCheckpoints::most_slots);
  Places places{useful_of(request.capacities[Tier::host], useful)};
  if (request.content != Content::record || most < 2) return places;
  places.units = request.record_units;
  const std::int64_t given = request.capacities[Tier::host],
                     units = given < 0 ? endless : std::max<std::int64_t>(1, given);
  const std::int64_t fit = units / places.units;
  if (request.records == 0 && fit >= most - 1) return {0, most - 1, places.units};
  const std::int64_t wanted = request.records > 0 ? request.records : fit / 2;
  places.records = std::min({wanted, most - 1, (units - 1) / places.units});
  if (places.records == most - 1) return {0, most - 1, places.units};
  places.states = std::min(useful, units - places.records * places.units);
  return places;
}

Schedule make(const ScheduleRequest& request) {
  if (request.steps != unknown_steps) require_known_steps("online", request);
  const Places places = divide(request);
  take_host_slots("online", request, 1, places.all());
  Schedule schedule{{}, [places] { return actions(places); }};
  schedule.predicted.plain = schedule.predicted.recorded = schedule.predicted.reversed = unpredicted;
  if (places.records > 0) schedule.predicted.kept = unpredicted;
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  schedule.predicted.peak = only_host(places.all());
  return schedule;
}

/// As many records as the planner wants.
void complete(ScheduleRequest& request, const RecordOffer& records) {
  if (!records.is_possible || records.units == 1 || request.records == 0) return;
  request.content = Content::record;
  request.record_units = records.units;
}

ScheduleMemory memory(const ScheduleRequest& request) {
  const std::int64_t most = most_steps(request), slots = divide(request).states;
  constexpr auto each = static_cast<std::int64_t>(sizeof(OnlineCheckpoints::Kept) + sizeof(Slot));
  return {slots * each + BinomialSweep::bytes(most, slots), 0};
}

}  // namespace

ScheduleKind online_schedule() {
  return {"online", "the number of steps is not known in advance; near the optimum for any",
          make,     true,
          complete, nullptr,
          false,    memory};
}

}  // namespace hindsight
