// The steps of a run: recorded as they are decided, the same forward and backward.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// When a run takes place. Steps land on some times: those of observations and outputs.
struct TimeSpan {
  double from = 0.0, to = 1.0;
  double step = 1.0;  ///< the longest of fixed steps; the first one that is tried, where errors decide
  /// In any order. Those outside (from, to) are ignored; of ones as close as StepSource::tolerance() one stands for
  /// all.
  std::vector<double> landings = {};
  /// Landings at which rates change at once, from the begin to the end. Where they are close to other landings they
  /// stand for these; one another only where round-off makes them the same.
  std::vector<double> switches = {};
  bool has_equal_steps = false;  ///< all are of one length: they land on the end alone, and every state is a landing
};

/// Takes steps on trial from the state that has been reached.
class StepTrial {
 public:
  virtual ~StepTrial() = default;
  /// The estimated error of a step, as a multiple of what is allowed: the largest over all cells; not finite where that
  /// is not. Collective, the same on all ranks.
  virtual double error(StepTime step) = 0;
  /// The power of the step's length with which that falls.
  virtual int order() const = 0;
  /// Why the last one was not finite, where the method knows, in words; "" on ranks that do not.
  virtual std::string failure() const { return ""; }
  /// Of the last one, whose error was too large: what is not finite, where and why, or the field and the place of the
  /// largest error; "" where that is not known. Collective, the same on all ranks. It may try the step again.
  virtual std::string cause() { return ""; }
  /// What else may help where steps are too short, to be added to a sentence; "" where there is nothing.
  virtual std::string advice() const { return ""; }
};

/// A state that is reached for the first time, for those who decide by it.
struct ReachedState {
  const Grid& grid;
  double* state;               ///< its fields come first, as shape_of_fields() has them
  StepTrial* trial = nullptr;  ///< for sources that try steps
};

/// A state and when it is.
struct Moment {
  std::int64_t k = 0;  ///< number of the state, from 0
  double t = 0.0;
  double before = 0.0, after = 0.0;  ///< lengths of the steps to it and from it; 0 where there is none
  std::int64_t landing = -1;         ///< number of the landing time that it is; -1: none
  bool is_last = false;
  /// The length of the step that begins here, and at the end of the one that ends here.
  double step_length = 0.0;
  bool is_switch = false;  ///< rates change at once
  double reads_at = t;     ///< the time that expressions read, which have their values before or after it

  // Where the state or rates change at once, it is two: the one before, to which landings belong, and the one after.
  Moment before_break() const {
    Moment side = *this;
    side.after = 0.0;
    side.step_length = before > 0 ? before : after;
    if (is_switch) side.reads_at = t - beside_switch(t, side.step_length);
    return side;
  }
  Moment after_break() const {
    Moment side = *this;
    side.before = 0.0;
    side.landing = -1;
    side.is_last = false;
    side.step_length = after;
    if (is_switch) side.reads_at = t + beside_switch(t, after);
    return side;
  }
};

class TimeLine;

/// Who decides the steps: all of them in advance, or one after another by the states that are reached.
class StepSource {
 public:
  virtual ~StepSource() = default;
  /// Steps at most.
  virtual std::int64_t most_steps(const TimeLine& line) const = 0;
  /// Whether begin() records all steps.
  virtual bool knows_all() const = 0;
  /// Times to land on that lie as close to t are the same. Of a source that does not say: as close as round-off of sums
  /// with the begin can bring a time.
  virtual double tolerance(const TimeLine& line, double t) const { return rounding(line, t); }
  static double rounding(const TimeLine& line, double t);
  /// Times that record() is called at most; asked before begin().
  virtual std::int64_t most_stretches(const TimeLine& line) const;
  /// Whether it decides by StepTrial.
  virtual bool tries_steps() const { return false; }
  /// Steps that were tried and not taken, since begin().
  virtual std::int64_t rejected() const { return 0; }
  /// Before state 0 is reached in a run.
  virtual void begin(TimeLine& line) = 0;
  /// Records the step that begins with state k, to which all steps are recorded, unless `k` is the end. Collective,
  /// with the same outcome on all ranks.
  virtual void decide(TimeLine& line, std::int64_t k, const ReachedState& state) = 0;
  /// What decisions to come depend on beside the state.
  virtual void save(BlockWriter& /*to*/) const {}
  virtual void restore(BlockReader& /*from*/) {}
};

/// State k belongs to time(k); step k leads from state k to k+1. Memory, made by the constructor, grows with the
/// landings and, where steps are decided one by one, with the most steps there may be; it counts (runtime/memory.hpp).
class TimeLine {
 public:
  /// @throws InputError when step is not positive or exceeds to - from, or to <= from.
  TimeLine(const TimeSpan& span, std::unique_ptr<StepSource> source);

  /// Whether the steps are known before the first one is taken.
  bool is_known() const { return source_->knows_all(); }
  /// Whether reach() takes steps on trial.
  bool tries_steps() const { return source_->tries_steps(); }
  /// Steps of this run that were tried and not taken.
  std::int64_t rejected() const { return source_->rejected(); }
  /// Of the run: as many as there are at most, until its end is reached.
  std::int64_t steps() const { return steps_; }
  /// State k is reached for the first time in a run: from now on step k is known. Collective.
  void reach(std::int64_t k, const ReachedState& state) {
    if (k == recorded() && k != steps_) source_->decide(*this, k, state);
  }
  /// The run ends with state k: steps() is k until reopen().
  void end_at(std::int64_t k) { steps_ = k; }
  /// A new run begins: what was decided by states is forgotten.
  void reopen();

  StepTime step(std::int64_t k) const {
    const std::size_t s = first_step_.size() == 2 ? 0 : stretch(k);
    const StepTime time{ends_[s] + static_cast<double>(k - first_step_[s]) * lengths_[s], lengths_[s], k};
    if (switches_.empty()) return time;
    const bool begins = first_step_[s] == k && is_switch(ends_[s]);
    return beside_switches(time, begins, first_step_[s + 1] == k + 1 && is_switch(ends_[s + 1]));
  }
  /// The step from where the record ends to a time, not recorded.
  StepTime step_to(double end) const {
    const double t = ends_.back();
    return beside_switches({t, end - t, recorded()}, is_switch(t), is_switch(end));
  }
  double time(std::int64_t k) const { return k == recorded() ? ends_.back() : step(k).t; }
  Moment moment(std::int64_t k) const {
    const std::size_t all = lengths_.size();
    const std::size_t next = k == recorded() ? all : all == 1 ? 0 : stretch(k);  // which the step that follows is of
    const auto at = static_cast<double>(k - first_step_[next]);
    const bool begins = first_step_[next] == k, is_last = k == steps_;
    const double before = k == 0 ? 0.0 : lengths_[begins ? next - 1 : next], after = is_last ? 0.0 : lengths_[next];
    return {k,
            next == all ? ends_.back() : ends_[next] + at * lengths_[next],
            before,
            after,
            begins || has_equal_steps_ ? landing_at(k) : -1,
            is_last,
            is_last ? before : after,
            begins && is_switch(ends_[next])};
  }

  /// Times that are landed on, with the begin and the latest end, in order; of equal steps these two.
  const CountedVector<double>& landings() const { return landings_; }
  /// The number of the one nearest to a time; of equal steps the state that is the first one not before it. @throws
  /// Error(bug) when nothing lands there.
  std::int64_t landing_of(double time) const;
  /// What that state's share is in a value at that time; the state before has the rest (linear in between). Below 1 of
  /// equal steps alone.
  double share_at(double time) const;
  /// Of state k; -1: none.
  std::int64_t landing_at(std::int64_t k) const {
    if (has_equal_steps_) return k;
    const bool is_inside = lengths_.size() == 1 && k != 0 && k != recorded();
    return is_inside ? -1 : find_landing(k);
  }

  // For sources.
  /// TimeSpan::step.
  double asked_step() const { return asked_step_; }
  /// Times as close to t are the same.
  double tolerance(double t) const { return source_->tolerance(*this, t); }
  std::int64_t recorded() const { return first_step_.back(); }
  /// Records steps of equal length from where the record ends to this time.
  void record(std::int64_t count, double to);

  /// Recorded stretches of steps of one length; none goes over a landing time.
  std::size_t stretches() const { return lengths_.size(); }
  /// Of a stretch; of stretches(): of what is to come.
  std::int64_t first_step(std::size_t stretch) const { return first_step_[stretch]; }

  /// Steps of one length between two times.
  struct Stretch {
    double from = 0.0, to = 0.0, step = 0.0;
  };
  /// The first recorded stretch with the shortest steps, with the longest.
  Stretch shortest() const;
  Stretch longest() const;

  /// The end, and what was decided by states.
  void save(BlockWriter& to) const;
  void restore(BlockReader& from);

 private:
  std::size_t stretch(std::int64_t k) const;
  std::pair<std::int64_t, double> place_of(double time) const;
  void land_on(const TimeSpan& span);
  bool is_switch(double t) const;
  /// The step with what it may read where it begins, or ends, on a switch.
  static StepTime beside_switches(StepTime time, bool begins, bool ends);
  std::int64_t find_landing(std::int64_t k) const;
  Stretch stretch_at(std::ptrdiff_t s) const;
  void forget();

  std::unique_ptr<StepSource> source_;
  CountedVector<double> landings_;
  CountedVector<double> switches_;          // those of the landings, in order
  CountedVector<double> ends_;              // times where stretches begin, and where the last one ends
  CountedVector<std::int64_t> first_step_;  // of each stretch, and of what is to come
  CountedVector<double> lengths_;           // of the steps of each stretch
  std::int64_t steps_ = 0;
  double asked_step_ = 0.0;
  bool has_equal_steps_ = false;
};

}  // namespace hindsight
