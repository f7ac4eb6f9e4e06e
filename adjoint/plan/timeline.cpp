#include "adjoint/plan/timeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <variant>
#include <vector>

#include "adjoint/schedule/roles.hpp"
#include "adjoint/sweep/prefetch.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t look_interval = 1 << 16;  // actions
constexpr double never = std::numeric_limits<double>::infinity();

/// A tier that makes one transfer at a time.
class Channel {
 public:
  Channel(double write, double read) : write_(write), read_(read) {}
  void write(std::int64_t slot, double now) { jobs_.push_back({slot, now, never, true}); }
  void read(std::int64_t slot, double now) { jobs_.push_back({slot, now, never, false}); }
  int waiting_writes(double now) {
    work_until(now);
    return static_cast<int>(
        std::count_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.is_write && j.end > now; }));
  }
  int reads() const {
    return static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), [](const Job& j) { return !j.is_write; }));
  }
  /// When the first write that is under way is done.
  double first_write_done(double now) {
    double first = never;
    for (std::size_t i = 0; first == never; ++i) {
      work_until(i == 0 ? now : never);
      for (const Job& job : jobs_)
        if (job.is_write && job.end > now) first = std::min(first, job.end);
    }
    return first;
  }
  bool is_being_written(std::int64_t slot, double now) {
    work_until(now);
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const Job& j) { return j.is_write && j.slot == slot && j.end > now; });
  }
  /// When the read of a slot is done, which must have begun; it is over then.
  double finish_read(std::int64_t slot) {
    const auto of_slot = [&](const Job& j) { return !j.is_write && j.slot == slot; };
    const auto job = std::find_if(jobs_.begin(), jobs_.end(), of_slot);
    if (job == jobs_.end()) return -1.0;
    if (job->end == never) work_until(never, &*job);
    const double end = job->end;
    jobs_.erase(job);
    return end;
  }
  double finish_all() {
    work_until(never);
    return free_at_;
  }

 private:
  struct Job {
    std::int64_t slot;
    double submitted, end;
    bool is_write;
  };
  /// Begins what can begin until `now`, or until `last` is done.
  void work_until(double now, const Job* last = nullptr) {
    while (last == nullptr || last->end == never) {
      Job* next = nullptr;
      for (Job& job : jobs_) {
        if (job.end != never) continue;
        const double begin = std::max(job.submitted, free_at_);
        if (begin > now) continue;
        const double best = next != nullptr ? std::max(next->submitted, free_at_) : never;
        if (begin < best || (begin == best && !job.is_write && next->is_write)) next = &job;
      }
      if (next == nullptr) break;
      next->end = free_at_ = std::max(next->submitted, free_at_) + (next->is_write ? write_ : read_);
    }
    if (last == nullptr) std::erase_if(jobs_, [&](const Job& j) { return j.is_write && j.end <= now && now != never; });
  }

  double write_, read_;
  double free_at_ = 0.0;
  std::vector<Job> jobs_;  // a few
};

class Clock {
 public:
  Clock(const OperationSeconds& seconds, const Overlap& overlap) : seconds_(seconds), overlap_(overlap) {
    for (std::size_t t = 0; t < tier_count; ++t) channels_.emplace_back(seconds.write[t], seconds.read[t]);
  }
  bool begin_read(Slot slot) {
    Channel& channel = of(slot);
    if (channel.reads() >= overlap_.prefetch || channel.is_being_written(slot.index, now_)) return false;
    channel.read(slot.index, now_);
    now_ += seconds_.read_delay[index_of(slot.tier)];
    return true;
  }
  void operator()(const Advance& a) { now_ += static_cast<double>(a.to - a.from) * seconds_.forward; }
  void operator()(const Record&) {
    now_ += seconds_.record_last;
    is_kept_ = false;
  }
  void operator()(const Reverse&) { now_ += seconds_.aside + (is_kept_ ? seconds_.reverse_kept : seconds_.reverse); }
  void operator()(const Retreat&) { now_ += seconds_.forward; }
  void operator()(const Save& a) {
    if (a.content == Content::record) now_ += seconds_.record - seconds_.record_last;
    if (transfers(a.slot)) {
      save(a.slot);
    } else if (a.content == Content::state) {
      now_ += seconds_.write[memory()];
    }
  }
  void operator()(const Load& a) {
    is_kept_ = a.content == Content::record;
    if (transfers(a.slot)) {
      load(a.slot);
    } else if (a.content == Content::state) {
      now_ += seconds_.read[memory()];
    }
  }
  void operator()(const Move& a) {
    if (transfers(a.from)) load(a.from);
    if (transfers(a.to)) save(a.to);
  }
  template <class Other>
  void operator()(const Other&) {}
  /// For what is to be read ahead.
  void look() { now_ += seconds_.look; }
  double now() {
    for (Channel& channel : channels_) now_ = std::max(now_, channel.finish_all());
    return now_;
  }

 private:
  std::size_t memory() const { return index_of(seconds_.memory); }
  bool transfers(Slot slot) const { return overlap_.transfers[index_of(slot.tier)]; }
  Channel& of(Slot slot) { return channels_[index_of(slot.tier)]; }
  void save(Slot slot) {
    Channel& channel = of(slot);
    if (channel.waiting_writes(now_) >= std::max(1, overlap_.queue)) now_ = channel.first_write_done(now_);
    channel.write(slot.index, now_);
    if (overlap_.queue == 0)
      now_ = channel.first_write_done(now_);
    else
      now_ += seconds_.write_delay[index_of(slot.tier)];
  }
  void load(Slot slot) {
    Channel& channel = of(slot);
    if (const double end = channel.finish_read(slot.index); end >= 0.0) {
      now_ = std::max(now_, end);
    } else if (!channel.is_being_written(slot.index, now_)) {
      channel.read(slot.index, now_);
      now_ = std::max(now_, channel.finish_read(slot.index));
    }
  }

  OperationSeconds seconds_;
  Overlap overlap_;
  double now_ = 0.0;
  bool is_kept_ = false;
  std::vector<Channel> channels_;
};

}  // namespace

double overlapped_seconds(const Schedule& schedule, bool is_online, std::int64_t steps, const OperationSeconds& seconds,
                          Overlap overlap) {
  if (is_online) overlap.prefetch = 0;
  PerTier slots = schedule.predicted.peak;
  for (std::size_t t = 0; t < tier_count; ++t)
    if (!overlap.transfers[t]) slots[t] = 0;
  Prefetcher prefetcher(overlap.prefetch > 0 ? schedule.actions() : ActionStream(), overlap.prefetch, slots);
  Clock clock(seconds, overlap);
  ActionStream stream = schedule.actions();
  bool has_ended = !is_online;
  for (std::int64_t count = 1; const Action* action = stream.next(); ++count) {
    if (count % look_interval == 0) stop_if_asked();
    if (overlap.prefetch > 0) {
      clock.look();
      prefetcher.before(*action, [&](Slot slot) { return clock.begin_read(slot); });
    }
    std::visit(clock, *action);
    const auto* advance = std::get_if<Advance>(action);
    const auto* record = std::get_if<Record>(action);
    if (has_ended || !((advance && advance->to == steps) || (record && record->step + 1 == steps))) continue;
    stream.finish_at(steps);
    has_ended = true;
  }
  return clock.now();
}

double measure_look() {
  constexpr int repeats = 5;
  ScheduleRequest request;
  request.steps = 2000;
  request.capacities[Tier::host] = 12;
  const Schedule schedule = make_schedule(schedules().find("revolve"), request);
  std::array<double, repeats> taken{};
  for (double& seconds : taken) {
    PerTier none{};
    std::int64_t actions = 0;
    const auto seconds_of_pass = [&](const auto& look) {
      const Stopwatch watch;
      ActionStream stream = schedule.actions();
      for (actions = 0; const Action* action = stream.next(); ++actions) look(*action);
      return watch.seconds();
    };
    Prefetcher prefetcher(schedule.actions(), 1, none);
    const double with = seconds_of_pass([&](const Action& a) { prefetcher.before(a, [](Slot) { return true; }); });
    const double without = seconds_of_pass([](const Action&) {});
    seconds = std::max(0.0, with - without) / static_cast<double>(std::max<std::int64_t>(1, actions));
  }
  std::sort(taken.begin(), taken.end());
  return taken[repeats / 2];
}

}  // namespace hindsight
