#include "adjoint/driver.hpp"

#include <algorithm>

#include "src/error.hpp"

namespace hindsight {
namespace {

/// The state of a sweep: what is live, what the slots hold.
class Sweep {
 public:
  Sweep(ReversibleSteps& steps, const std::function<void(std::int64_t, std::int64_t)>& progress)
      : steps_(steps), progress_(progress), live_(steps.initial_state()) {}

  void operator()(const Advance& a) {
    for (std::int64_t k = a.from; k < a.to; ++k) {
      live_ = steps_.advance(k, live_, !turned_);
      ++counts_.plain;
      report();
    }
  }
  void operator()(const Record& a) {
    StepRecord record;
    live_ = steps_.record(a.step, live_, !turned_, record);
    record_ = std::move(record);
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
    slot(a.slot) = a.content == Content::record ? record_ : StepRecord{live_, {}};
    const auto tier = static_cast<std::size_t>(a.slot.tier);
    counts_.peak[tier] = std::max(counts_.peak[tier], ++in_use_[tier]);
  }
  void operator()(const Load& a) {
    if (a.content == Content::record) {
      record_ = slot(a.slot);
    } else {
      live_ = slot(a.slot).base;
    }
  }
  void operator()(const Move& a) {
    slot(a.to) = std::exchange(slot(a.from), {});
    --in_use_[static_cast<std::size_t>(a.from.tier)];
    const auto tier = static_cast<std::size_t>(a.to.tier);
    counts_.peak[tier] = std::max(counts_.peak[tier], ++in_use_[tier]);
  }
  void operator()(const Release& a) {
    slot(a.slot) = {};
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
  StepRecord& slot(Slot slot) {
    auto& tier = slots_[static_cast<std::size_t>(slot.tier)];
    if (slot.index >= static_cast<std::int64_t>(tier.size())) tier.resize(static_cast<std::size_t>(slot.index) + 1);
    return tier[static_cast<std::size_t>(slot.index)];
  }
  void report() {
    if (progress_) progress_(counts_.plain + counts_.recorded, counts_.reversed);
  }

  ReversibleSteps& steps_;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
  Buffer live_;
  StepRecord record_;
  bool turned_ = false;
  std::array<std::vector<StepRecord>, tier_count> slots_;
  std::array<std::int64_t, tier_count> in_use_{};
  DriverCounts counts_;
};

}  // namespace

DriverCounts drive(ActionStream stream, ReversibleSteps& steps,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Sweep sweep(steps, progress);
  while (const auto action = stream.next()) std::visit(sweep, *action);
  return sweep.counts();
}

}  // namespace hindsight
