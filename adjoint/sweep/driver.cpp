#include "adjoint/sweep/driver.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "adjoint/sweep/prefetch.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// All numbers, in the order in which journals have them.
template <class Counts, class Visit>
void each_number(Counts& c, Visit visit) {
  for (auto* n : {&c.plain, &c.recorded, &c.kept, &c.reversed, &c.retreated, &c.repaired, &c.repairing_steps})
    visit(*n);
  for (auto* tiers : {&c.writes, &c.reads, &c.peak})
    for (auto& n : *tiers) visit(n);
}

/// What is live of a sweep on its way forward.
class LiveState {
 protected:
  /// @param report_interval steps between two calls of the progress observer: a power of 2.
  LiveState(ForwardSteps& steps, const DriveOptions& options, std::int64_t report_interval)
      : end_is_open_(options.is_online),
        keeper_(options.keeper),
        steps_(steps),
        progress_(options.progress),
        report_mask_(report_interval - 1) {}

  /// Takes steps, at most to the end. @param keep is called before each of them, or before those that are taken at
  /// once: then nothing but the live state, the adjoint and the slots is needed.
  template <class Keep>
  void advance(std::int64_t from, std::int64_t to, bool first, Keep keep) {
    for (std::int64_t k = std::max(from, resumed_at_), steps = 1; k < to; k += steps) {
      live_step_ = k;
      keep();
      steps = steps_.steps_at_once(k, to, live_, first);
      live_ = steps_.advance(k, steps, std::move(live_), first);
      counts_.plain += steps;
      report(steps);
      if (end_is_open_ && steps_.is_last(k + steps)) to = k + steps;
    }
    live_step_ = to;
  }
  /// @param steps that were just counted.
  void report(std::int64_t steps = 1) {
    const std::int64_t done = counts_.plain + counts_.recorded;
    if (((done + counts_.reversed) & report_mask_) < steps && progress_) progress_(done, counts_.reversed);
  }

  bool end_is_open_;
  SweepKeeper* const keeper_;
  Buffer live_;
  std::int64_t live_step_ = 0;
  std::int64_t resumed_at_ = 0;  // of the action that was under way when it was kept
  DriverCounts counts_;

  ForwardSteps& steps_;

 private:
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
  std::int64_t report_mask_;
};

/// All steps once.
class ForwardSweep : LiveState {
 public:
  ForwardSweep(ForwardSteps& steps, const DriveOptions& options) : LiveState(steps, options, 1) {}
  void begin() { live_ = steps_.initial_state(); }
  Buffer run(std::int64_t steps) {
    advance(0, steps, true, [this] {
      if (keeper_ != nullptr && keeper_->is_due()) keeper_->keep([this](BlockWriter& to) { save(to); });
    });
    return std::move(live_);
  }
  void restore(BlockReader& from) {
    resumed_at_ = from.get<std::int64_t>();
    steps_.restore(from, false);
    live_ = steps_.restore_state(from, resumed_at_);
    counts_.plain = resumed_at_;
    keeper_->resumed();
  }

 private:
  void save(BlockWriter& to) const {
    to.archive().write(live_step_);
    steps_.save(to, false);
    steps_.save_state(to, live_step_, live_);
  }
};

/// A sweep through a schedule's actions.
class Sweep : LiveState {
 public:
  Sweep(ActionStream& stream, ReversibleSteps& steps, Checkpoints& checkpoints, const DriveOptions& options)
      : LiveState(steps, options, 16),
        stream_(stream),
        steps_(steps),
        checkpoints_(checkpoints),
        front_(options.steps < 0 ? std::numeric_limits<std::int64_t>::max() : options.steps) {}

  void begin() { live_ = steps_.initial_state(); }

  // A live record is used up by what comes before the next step, load or move.
  void operator()(const Advance& a) {
    if (a.to <= a.from || !is_ahead(a.from, a.to)) [[unlikely]]
      explain(a);
    advance(a.from, a.to, !turned_, [this] { keep_if_due(); });
    is_walked_ = false;
    if (end_is_open_) look_for_end();
  }
  void operator()(const Record& a) {
    const std::int64_t step = a.step;
    if (!is_ahead(step, step + 1)) [[unlikely]]
      explain(a);
    keep_if_due();
    const Action* following = turned_ ? stream_.peek() : nullptr;
    const bool wanted = following == nullptr ||
                        !(std::holds_alternative<Reverse>(*following) || std::holds_alternative<Retreat>(*following));
    live_ = steps_.record(step, live_, !turned_, wanted, record_);
    live_step_ = step + 1;
    record_step_ = step;
    is_walked_ = false;
    ++counts_.recorded;
    report();
    if (end_is_open_) look_for_end();
  }
  void operator()(const Reverse& a) {
    if (!turned_ || a.step != front_ - 1 || a.step != record_step_) [[unlikely]]
      explain(a);
    steps_.reverse(a.step, record_);
    record_.reset();
    record_step_ = -1;
    --front_;
    ++counts_.reversed;
    report();
  }
  void operator()(const Retreat& a) {
    const bool is_live = live_ && live_step_ == a.from;
    if (!turned_ || a.to != a.from - 1 || a.to < 0 || (!is_live && a.from != record_step_)) [[unlikely]]
      explain(a);
    live_ = steps_.retreat(a.from, is_live ? live_ : record_.base);  // which the live record holds
    live_step_ = a.to;
    is_walked_ = true;
    ++counts_.retreated;
  }
  void operator()(const Save& a) {
    const bool is_live = a.content == Content::state && a.step == live_step_ && live_;
    if ((!is_live && a.step != record_step_) || !is_free(a.slot)) [[unlikely]]
      explain(a, is_live);
    if (a.content == Content::record) {
      checkpoints_.save(a.slot, record_, a.step, a.content);
      ++counts_.kept;
    } else {  // a live record holds the state that it starts from
      checkpoints_.save(a.slot, {is_live ? live_ : record_.base, {}}, a.step);
    }
    ++counts_.writes[index_of(a.slot.tier)];
  }
  void operator()(const Load& a) {
    if (!checkpoints_.has(a.slot) || a.step < 0 || checkpoints_.step_of(a.slot) != a.step ||
        (a.content == Content::record && !checkpoints_.has_record(a.slot))) [[unlikely]]
      explain(a);
    const bool compares = a.content == Content::state && is_walked_ && live_ && live_step_ == a.step;
    if (a.content == Content::state && !compares) live_.reset();
    keep_if_due();
    if (a.content == Content::record) {
      record_ = load(a.slot, a.step);
      record_step_ = a.step;
    } else {
      Buffer kept = load(a.slot, a.step).base;
      if (compares) steps_.see_drift(a.step, live_, kept);
      live_ = std::move(kept);
      live_step_ = a.step;
      is_walked_ = false;
    }
    ++counts_.reads[index_of(a.slot.tier)];
  }
  void operator()(const Move& a) {
    if (!is_full(a.from) || !is_free(a.to)) [[unlikely]]
      explain(a);
    const std::int64_t step = checkpoints_.step_of(a.from);
    checkpoints_.save(a.to, load(a.from, step), step);
    checkpoints_.release(a.from);
    ++counts_.reads[index_of(a.from.tier)];
    ++counts_.writes[index_of(a.to.tier)];
  }
  void operator()(const Release& a) {
    if (!is_full(a.slot)) [[unlikely]]
      refuse_unless_full(a, a.slot);
    checkpoints_.release(a.slot);
  }
  void operator()(const Turn& a) {
    if (turned_) refuse(a, "the schedule has turned already");
    if (front_ != std::numeric_limits<std::int64_t>::max() && a.steps != front_)
      refuse(a, "the number of steps is " + std::to_string(front_));
    if (!live_ || a.steps != live_step_)
      refuse(a, "the end is not reached: " + live_text(Content::state, live_state()));
    turned_ = true;
    front_ = a.steps;
    steps_.turn(a.steps, live_);
    live_.reset();
  }
  void operator()(const Done& a) {
    if (!turned_) refuse(a, "the schedule never turned");
    if (front_ > 0) refuse(a, "step " + std::to_string(front_ - 1) + " is not reversed");
  }
  /// The actions have ended.
  void finish() const {
    if (!turned_ || front_ > 0)
      refuse_end(position_, counts_.reversed, turned_ ? front_ + counts_.reversed : live_step_);
  }

  /// One action more is done.
  void count() {
    ++position_;
    resumed_at_ = 0;
  }
  const DriverCounts& counts() const { return counts_; }

  /// Where the sweep stands, before the step that is next.
  void save(BlockWriter& to) const {
    ArchiveWriter& archive = to.archive();
    archive.begin("sweep");
    archive.write(position_);
    archive.write(live_step_);
    archive.write(turned_);
    archive.write(is_walked_);
    archive.write(end_is_open_);
    save_counts(archive, counts_);
    steps_.save(to, turned_);
    steps_.save_left_behind(to, *keeper_);
    archive.write(static_cast<bool>(live_));
    if (live_) steps_.save_state(to, live_step_, live_);
    checkpoints_.save_places(to, keeper_->units_kept_at_once(), [&](std::span<const StepRecord> records) {
      std::int64_t first = -1;
      steps_.save_records(
          [&](const std::function<void(BlockWriter&)>& write) {
            const std::int64_t place = keeper_->keep_part(write);
            if (first < 0) first = place;
          },
          records);
      return first;
    });
    archive.end();
  }
  /// Passes over the actions that are done; `passed` is told each of them.
  void restore(BlockReader& from, const std::function<void(const Action&)>& passed) {
    from.begin("sweep");
    position_ = from.get<std::int64_t>();
    live_step_ = from.get<std::int64_t>();
    turned_ = from.get<bool>();
    is_walked_ = from.get<bool>();
    const bool was_open = from.get<bool>();
    counts_ = restore_counts(from);
    steps_.restore(from, turned_);
    steps_.restore_left_behind(from, *keeper_);
    if (from.get<bool>()) live_ = steps_.restore_state(from, turned_ ? -1 : live_step_);
    pass_over(was_open, passed);
    checkpoints_.restore_places(from, [&](std::int64_t place, std::span<StepRecord> records) {
      steps_.restore_records([&](const std::function<void(BlockReader&)>& read) { keeper_->read_part(place, read); },
                             records);
    });
    from.end();
    keeper_->resumed();
    resumed_at_ = live_step_;
  }

 private:
  void pass_over(bool was_open, const std::function<void(const Action&)>& passed) {
    for (std::int64_t i = 0; i < position_; ++i) {
      const Action* const action = stream_.next();
      if (action == nullptr) throw ResourceError("the journal belongs to another schedule");
      passed(*action);
      checkpoints_.pass_over(*action);
      if (const auto* turn = std::get_if<Turn>(action)) front_ = turn->steps;
      if (std::holds_alternative<Reverse>(*action)) --front_;
      std::int64_t reached = -1;
      if (const auto* advance = std::get_if<Advance>(action)) reached = advance->to;
      if (const auto* record = std::get_if<Record>(action)) reached = record->step + 1;
      if (!end_is_open_ || was_open || reached < 0 || !steps_.is_last(reached)) continue;
      stream_.finish_at(reached);
      front_ = reached;
      end_is_open_ = false;
    }
  }
  void keep_if_due() {
    if (keeper_ == nullptr) return;
    keeper_->holds(checkpoints_.units_in_memory());
    if (!keeper_->is_due()) return;
    checkpoints_.flush();
    keeper_->keep([this](BlockWriter& to) { save(to); });
  }
  std::optional<std::int64_t> live_state() const { return live_ ? std::optional(live_step_) : std::nullopt; }
  std::optional<std::int64_t> live_record() const {
    return record_step_ < 0 ? std::nullopt : std::optional(record_step_);
  }
  std::string content_of(Slot slot) const {
    return to_text(checkpoints_.has_record(slot) ? Content::record : Content::state, checkpoints_.step_of(slot));
  }
  // What actions need is looked at in a few comparisons; the words are found in functions of their own, so that steps
  // of some nanoseconds do not pay for them.
  /// Steps start from the live state and stay behind the front.
  bool is_ahead(std::int64_t from, std::int64_t to) const {
    return live_ && std::max(from, resumed_at_) == live_step_ && to <= front_;
  }
  bool is_full(Slot slot) const { return checkpoints_.has(slot) && checkpoints_.step_of(slot) >= 0; }
  bool is_free(Slot slot) const { return checkpoints_.has(slot) && checkpoints_.step_of(slot) < 0; }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const Action& action, const std::string& why) const {
    refuse_action(position_ + 1, action, why);
  }
  [[gnu::cold, gnu::noinline]] void refuse_unless_there(const Action& action, Slot slot) const {
    if (!checkpoints_.has(slot))
      refuse(action,
             to_text(slot) + " is beyond the capacity of " + std::to_string(checkpoints_.slots(slot.tier)) + " slots");
  }
  [[gnu::cold, gnu::noinline]] void refuse_unless_full(const Action& action, Slot slot) const {
    refuse_unless_there(action, slot);
    if (!is_full(slot)) refuse(action, to_text(slot) + " is empty");
  }
  [[gnu::cold, gnu::noinline]] void refuse_unless_free(const Action& action, Slot slot) const {
    refuse_unless_there(action, slot);
    if (!is_free(slot)) refuse(action, to_text(slot) + " is not free: it holds " + content_of(slot));
  }
  [[gnu::cold, gnu::noinline]] void refuse_unless_ahead(const Action& action, std::int64_t from) const {
    if (!live_ || std::max(from, resumed_at_) != live_step_)
      refuse(action,
             "it starts from state " + std::to_string(from) + ", but " + live_text(Content::state, live_state()));
    refuse(action, (turned_ ? "it passes the adjoint's front at state " : "it passes the end at state ") +
                       std::to_string(front_));
  }
  [[gnu::cold, gnu::noinline]] void explain(const Advance& a) const {
    if (a.to <= a.from) refuse(a, "it does not move forward");
    refuse_unless_ahead(a, a.from);
  }
  [[gnu::cold, gnu::noinline]] void explain(const Record& a) const { refuse_unless_ahead(a, a.step); }
  [[gnu::cold, gnu::noinline]] void explain(const Reverse& a) const {
    if (!turned_) refuse(a, "nothing is reversed before Turn");
    if (a.step != front_ - 1) refuse(a, "the next step to be reversed is " + std::to_string(front_ - 1));
    refuse(a, "its record is not live: " + live_text(Content::record, live_record()));
  }
  [[gnu::cold, gnu::noinline]] void explain(const Retreat& a) const {
    if (!turned_) refuse(a, "nothing walks back before Turn");
    if (a.to != a.from - 1) refuse(a, "it does not move one step back");
    if (a.to < 0) refuse(a, "there is no state before the first one");
    refuse(a, "it starts from state " + std::to_string(a.from) + ", but " + live_text(Content::state, live_state()));
  }
  [[gnu::cold, gnu::noinline]] void explain(const Save& a, bool is_live) const {
    if (!is_live && a.step != record_step_)
      refuse(a, "it saves " + to_text(a.content, a.step) + ", but " +
                    live_text(a.content, a.content == Content::state ? live_state() : live_record()));
    refuse_unless_free(a, a.slot);
  }
  [[gnu::cold, gnu::noinline]] void explain(const Load& a) const {
    refuse_unless_full(a, a.slot);
    refuse(a, "the slot holds " + content_of(a.slot));
  }
  [[gnu::cold, gnu::noinline]] void explain(const Move& a) const {
    refuse_unless_full(a, a.from);
    refuse_unless_free(a, a.to);
  }
  StepRecord load(Slot slot, std::int64_t step) {
    StepRecord record = checkpoints_.load(slot);
    while (!record.base) {
      repair(step);
      record = checkpoints_.load(slot);
    }
    return record;
  }
  /// Computes again, in one pass, what the slots held that are lost or damaged, up to this step. Kept meanwhile, the
  /// sweep stands before the action that loads, and slots that were refilled count.
  void repair(std::int64_t step) {
    Buffer state;
    std::int64_t at = -1;
    for (std::int64_t first = 0;;) {
      CountedVector<Lost> all = checkpoints_.lost_between(first, step);
      if (all.empty()) return;
      for (Lost& lost : all) {
        reach(lost, state, at);
        StepRecord record{state, {}};
        if (lost.content == Content::record) {
          state = steps_.record(at++, state, false, true, record);
          ++counts_.repairing_steps;
        }
        checkpoints_.refill(lost, std::move(record));
        ++counts_.repaired;
      }
      first = all.back().step;
    }
  }
  /// Leads the state `at` on to what was lost, from the latest checkpoint that is whole, if that is nearer, or from the
  /// beginning.
  void reach(Lost& lost, Buffer& state, std::int64_t& at) {
    for (; lost.step_before > at; checkpoints_.look_before(lost)) {
      state.reset();
      state = checkpoints_.load(lost.before).base;
      at = state ? lost.step_before : -1;  // it may be damaged too: then the next one
      if (state) break;
    }
    if (!state) {
      state = steps_.initial_state();
      at = 0;
    }
    for (std::int64_t steps = 1; at < lost.step; at += steps) {
      keep_if_due();
      steps = steps_.steps_at_once(at, lost.step, state, false);
      state = steps_.advance(at, steps, std::move(state), false);
      counts_.repairing_steps += steps;
    }
  }
  void look_for_end() {
    if (!steps_.is_last(live_step_)) return;
    stream_.finish_at(live_step_);
    front_ = live_step_;
    end_is_open_ = false;
  }

  ActionStream& stream_;
  ReversibleSteps& steps_;
  Checkpoints& checkpoints_;
  std::int64_t position_ = 0;  // actions done
  StepRecord record_;
  std::int64_t record_step_ = -1;  // that the live record is of; -1: there is none
  bool turned_ = false;
  bool is_walked_ = false;  // the live state came by Retreat
  std::int64_t front_;  // once turned: the next step to be reversed is front_ - 1; before that: the end, if it is known
};

}  // namespace

void add_counts(DriverCounts& counts, const DriverCounts& more) {
  for (const auto part : {&DriverCounts::plain, &DriverCounts::recorded, &DriverCounts::kept, &DriverCounts::reversed,
                          &DriverCounts::retreated})
    counts.*part += more.*part;
  counts.repaired += more.repaired;
  counts.repairing_steps += more.repairing_steps;
  for (std::size_t t = 0; t < tier_count; ++t) {
    counts.writes[t] += more.writes[t];
    counts.reads[t] += more.reads[t];
    counts.peak[t] = std::max(counts.peak[t], more.peak[t]);
  }
}

void save_counts(ArchiveWriter& to, const DriverCounts& counts) {
  each_number(counts, [&](std::int64_t n) { to.write(n); });
}

DriverCounts restore_counts(BlockReader& from) {
  DriverCounts counts;
  each_number(counts, [&](std::int64_t& n) { from.read(n); });
  return counts;
}

DriverCounts drive(const Schedule& schedule, ReversibleSteps& steps, Checkpoints& checkpoints,
                   const DriveOptions& options) {
  checkpoints.clear();
  ActionStream stream = schedule.actions();
  std::optional<Prefetcher> prefetcher;
  if (!options.is_online && checkpoints.prefetches() > 0)
    prefetcher.emplace(schedule.actions(), checkpoints.prefetches(), checkpoints.slow_slots());
  try {
    Sweep sweep(stream, steps, checkpoints, options);
    if (options.kept == nullptr) {
      sweep.begin();
    } else {
      sweep.restore(*options.kept, [&](const Action& action) {
        if (prefetcher) prefetcher->pass_over(action);
      });
    }
    for (; const Action* action = stream.next(); sweep.count()) {
      if (prefetcher) prefetcher->before(*action, [&](Slot slot) { return checkpoints.prefetch(slot); });
      std::visit(sweep, *action);
    }
    sweep.finish();
    checkpoints.finish();
    DriverCounts counts = sweep.counts();
    counts.peak = checkpoints.peak();
    return counts;
  } catch (...) {
    checkpoints.clear();  // no transfer may outlive the buffers that it works on
    throw;
  }
}

Buffer drive_forward(std::int64_t steps, ForwardSteps& problem, const DriveOptions& options) {
  ForwardSweep sweep(problem, options);
  if (options.kept == nullptr) {
    sweep.begin();
  } else {
    sweep.restore(*options.kept);
  }
  return sweep.run(steps);
}

}  // namespace hindsight
