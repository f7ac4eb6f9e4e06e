#include "adjoint/driver.hpp"

#include <algorithm>

#include "src/error.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t report_interval = 16;  // steps between two calls of the progress observer

/// The state of a sweep: what is live, what the slots hold.
class Sweep {
 public:
  Sweep(ReversibleSteps& steps, CheckpointSlots& slots, const std::function<void(std::int64_t, std::int64_t)>& progress)
      : steps_(steps), slots_(slots), progress_(progress), live_(steps.initial_state()) {}

  void operator()(const Advance& a) {
    for (std::int64_t k = a.from; k < a.to; ++k) {
      live_ = steps_.advance(k, live_, !turned_);
      ++counts_.plain;
      report();
    }
  }
  void operator()(const Record& a) {
    live_ = steps_.record(a.step, live_, !turned_, record_);
    ++counts_.recorded;
    report();
  }
  void operator()(const Reverse& a) {
    steps_.reverse(a.step, record_);
    record_ = {};
    ++counts_.reversed;
    report();
  }
  void operator()(const Save& a) {
    slots_[a.slot] = a.content == Content::record ? record_ : StepRecord{live_, {}};
    const auto tier = static_cast<std::size_t>(a.slot.tier);
    counts_.peak[tier] = std::max(counts_.peak[tier], ++in_use_[tier]);
  }
  void operator()(const Load& a) {
    if (a.content == Content::record) {
      record_ = slots_[a.slot];
    } else {
      live_ = slots_[a.slot].base;
    }
  }
  void operator()(const Move& a) {
    slots_[a.to] = std::exchange(slots_[a.from], {});
    --in_use_[static_cast<std::size_t>(a.from.tier)];
    const auto tier = static_cast<std::size_t>(a.to.tier);
    counts_.peak[tier] = std::max(counts_.peak[tier], ++in_use_[tier]);
  }
  void operator()(const Release& a) {
    slots_[a.slot] = {};
    --in_use_[static_cast<std::size_t>(a.slot.tier)];
  }
  void operator()(const Turn& a) {
    turned_ = true;
    steps_.turn(a.steps, live_);
    live_.reset();
  }
  void operator()(const Done&) {}

  const DriverCounts& counts() const { return counts_; }

 private:
  void report() {
    const std::int64_t done = counts_.plain + counts_.recorded;
    if ((done + counts_.reversed) % report_interval == 0 && progress_) progress_(done, counts_.reversed);
  }

  ReversibleSteps& steps_;
  CheckpointSlots& slots_;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
  Buffer live_;
  StepRecord record_;
  bool turned_ = false;
  std::array<std::int64_t, tier_count> in_use_{};
  DriverCounts counts_;
};

}  // namespace

DriverCounts drive(ActionStream stream, ReversibleSteps& steps, CheckpointSlots& slots,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Sweep sweep(steps, slots, progress);
  while (const Action* action = stream.next()) std::visit(sweep, *action);
  return sweep.counts();
}

}  // namespace hindsight
