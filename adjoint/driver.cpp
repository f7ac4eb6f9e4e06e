#include "adjoint/driver.hpp"

#include <algorithm>
#include <optional>

#include "adjoint/prefetch.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t report_interval = 16;  // steps between two calls of the progress observer

/// The state of a sweep: what is live.
class Sweep {
 public:
  Sweep(ActionStream& stream, bool is_online, ReversibleSteps& steps, Checkpoints& checkpoints,
        const std::function<void(std::int64_t, std::int64_t)>& progress)
      : stream_(stream),
        end_is_open_(is_online),
        steps_(steps),
        checkpoints_(checkpoints),
        progress_(progress),
        live_(steps.initial_state()) {}

  void operator()(const Advance& a) {
    for (std::int64_t k = a.from; k < a.to; ++k) {
      live_ = steps_.advance(k, live_, !turned_);
      ++counts_.plain;
      report();
    }
    live_step_ = a.to;
    if (end_is_open_) look_for_end();
  }
  void operator()(const Record& a) {
    const std::int64_t step = a.step;
    const Action* following = turned_ ? stream_.peek() : nullptr;
    const bool wanted = following == nullptr || !std::holds_alternative<Reverse>(*following);
    live_ = steps_.record(step, live_, !turned_, wanted, record_);
    live_step_ = step + 1;
    ++counts_.recorded;
    report();
    if (end_is_open_) look_for_end();
  }
  void operator()(const Reverse& a) {
    steps_.reverse(a.step, record_);
    record_.reset();
    ++counts_.reversed;
    report();
  }
  void operator()(const Save& a) {
    if (a.content == Content::record) {
      checkpoints_.save(a.slot, record_, a.step);
      ++counts_.kept;
    } else {  // a live record holds the state that it starts from
      checkpoints_.save(a.slot, {a.step == live_step_ ? live_ : record_.base, {}}, a.step);
    }
    ++counts_.writes[static_cast<std::size_t>(a.slot.tier)];
  }
  void operator()(const Load& a) {
    ++counts_.reads[static_cast<std::size_t>(a.slot.tier)];
    if (a.content == Content::record) {
      record_ = checkpoints_.load(a.slot);
    } else {
      live_.reset();
      live_ = load(a.slot, a.step).base;
      live_step_ = a.step;
    }
  }
  void operator()(const Move& a) {
    const std::int64_t step = checkpoints_.step_of(a.from);
    checkpoints_.save(a.to, load(a.from, step), step);
    checkpoints_.release(a.from);
    ++counts_.reads[static_cast<std::size_t>(a.from.tier)];
    ++counts_.writes[static_cast<std::size_t>(a.to.tier)];
  }
  void operator()(const Release& a) { checkpoints_.release(a.slot); }
  void operator()(const Turn& a) {
    turned_ = true;
    steps_.turn(a.steps, live_);
    live_.reset();
  }
  void operator()(const Done&) {}

  const DriverCounts& counts() const { return counts_; }

 private:
  StepRecord load(Slot slot, std::int64_t step) {
    StepRecord record = checkpoints_.load(slot);
    return record.base ? record : StepRecord{repair(slot, step), {}};
  }
  /// Computes the state of a damaged slot again, from the latest state before it that is whole.
  Buffer repair(Slot slot, std::int64_t step) {
    Buffer state;
    std::int64_t at = 0;
    while (!state) {
      const auto from = checkpoints_.latest_before(step);
      at = from ? from->step : 0;
      state = from ? checkpoints_.load(from->slot).base : steps_.initial_state();
    }
    for (; at < step; ++at) {
      state = steps_.advance(at, state, false);
      ++counts_.repairing_steps;
    }
    ++counts_.repaired;
    checkpoints_.replace(slot, state, step);
    return state;
  }
  void look_for_end() {
    if (!steps_.is_last(live_step_)) return;
    stream_.finish_at(live_step_);
    end_is_open_ = false;
  }
  void report() {
    const std::int64_t done = counts_.plain + counts_.recorded;
    if ((done + counts_.reversed) % report_interval == 0 && progress_) progress_(done, counts_.reversed);
  }

  ActionStream& stream_;
  bool end_is_open_;
  ReversibleSteps& steps_;
  Checkpoints& checkpoints_;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
  Buffer live_;
  std::int64_t live_step_ = 0;
  StepRecord record_;
  bool turned_ = false;
  DriverCounts counts_;
};

}  // namespace

DriverCounts drive(const Schedule& schedule, bool is_online, ReversibleSteps& steps, Checkpoints& checkpoints,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  checkpoints.clear();
  ActionStream stream = schedule.actions();
  std::optional<Prefetcher> prefetcher;
  if (!is_online && checkpoints.prefetches() > 0)
    prefetcher.emplace(schedule.actions(), checkpoints.prefetches(), checkpoints.slow_slots());
  try {
    Sweep sweep(stream, is_online, steps, checkpoints, progress);
    while (const Action* action = stream.next()) {
      if (prefetcher) prefetcher->before(*action, [&](Slot slot) { return checkpoints.prefetch(slot); });
      std::visit(sweep, *action);
    }
    checkpoints.finish();
    DriverCounts counts = sweep.counts();
    counts.peak = checkpoints.peak();
    return counts;
  } catch (...) {
    checkpoints.clear();  // no transfer may outlive the buffers that it works on
    throw;
  }
}

}  // namespace hindsight
