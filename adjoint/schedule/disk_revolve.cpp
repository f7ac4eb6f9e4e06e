// Disk-Revolve: the least cost with as much of the slow tier as it asks for (Aupy, Herrmann, Hovland, Robert 2016, SIAM
// J. Sci. Comput. 38); each disk checkpoint is read as often as it pays, or once only. And its periodic form (Aupy,
// Herrmann 2017), which writes every m-th state with the m that costs least per step.
#include <algorithm>
#include <limits>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "adjoint/schedule/level_counts.hpp"
#include "adjoint/schedule/levels.hpp"

namespace hindsight {
namespace {

constexpr auto disk = index_of(Tier::disk);

/// Consecutive parts of the run, each the start of which is on disk and is read once: `count` of `length` steps, the
/// first `longer` of them one longer, and the last one, which is reversed as it is reached.
struct Parts {
  std::int64_t count = 0, length = 0, longer = 0, last = 1;
};

ActionStream once_actions(std::int64_t steps, Parts parts, std::int64_t slots) {
  const auto begin = [&](std::int64_t j) { return j * parts.length + std::min(j, parts.longer); };
  for (std::int64_t j = 0; j < parts.count; ++j) {
    co_yield Save{{Tier::disk, j}, begin(j), Content::state};
    co_yield Advance{begin(j), begin(j + 1)};
  }
  const SlotOrder order({Tier::host, 0}, {Tier::host, 1});
  BinomialSweep sweep({0, steps, slots}, order);
  for (std::int64_t j = parts.count; j >= 0; --j) {
    if (j < parts.count) {
      co_yield Load{{Tier::disk, j}, begin(j), Content::state};
      co_yield Release{{Tier::disk, j}};
    }
    sweep.restart({begin(j), j == parts.count ? steps : begin(j + 1), slots, steps - 1}, order);
    for (ActionBatch batch; sweep.next(batch);)
      for (const Action& action : batch) co_yield action;
  }
  co_yield Done{};
}

std::int64_t plain_of(const Parts& parts, std::int64_t slots) {
  const auto one = [&](std::int64_t length) { return saturating_sum(length, binomial_plain_steps(length, slots)); };
  std::int64_t plain = binomial_plain_steps(parts.last, slots);
  if (parts.count > parts.longer)
    plain = saturating_sum(plain, saturating_product(parts.count - parts.longer, one(parts.length)));
  if (parts.longer > 0) plain = saturating_sum(plain, saturating_product(parts.longer, one(parts.length + 1)));
  return plain;
}

Schedule once(const std::string& name, const ScheduleRequest& request, const Parts& parts, std::int64_t slots) {
  const std::int64_t n = request.steps;
  take_slots(name, request, Tier::disk, parts.count, parts.count);
  Schedule schedule{predict(name, n, plain_of(parts, slots)), [=] { return once_actions(n, parts, slots); }};
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  schedule.predicted.peak = only_host(slots);
  schedule.predicted.writes[disk] = schedule.predicted.reads[disk] = schedule.predicted.peak[disk] = parts.count;
  return schedule;
}

/// Parts read once: all but the last are swept over once more, so the last is about one repetition longer. With a given
/// number of parts the convex cost of Revolve asks for equal lengths.
Parts best_parts(std::int64_t n, std::int64_t slots, const ScheduleCosts& costs) {
  const LeafSteps leaf(slots, n);
  const auto divide = [&](std::int64_t count) {
    const LevelCounts leaves{1, count};
    std::int64_t low = 0, high = 1;
    while (leaf.below(leaves, high) <= n) high *= 2;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (leaf.below(leaves, middle) <= n ? low : high) = middle;
    }
    std::int64_t extra = n - leaf.below(leaves, low);
    Parts parts{count, leaf.below(1, low), 0, leaf.below(0, low)};
    const std::int64_t to_last = std::min(extra, leaf.at(0, low));
    parts.last += to_last;
    extra -= to_last;
    if (count > 0) {
      parts.length += extra / count;
      parts.longer = extra % count;
    }
    return parts;
  };
  const auto cost = [&](std::int64_t count) {
    return costs.forward * static_cast<double>(plain_of(divide(count), slots)) +
           static_cast<double>(count) * (costs.write[disk] + costs.read[disk]);
  };
  std::int64_t low = 0, high = n - 1;  // the cost is convex in the number of parts, up to round-off
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (cost(middle + 1) < cost(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::int64_t best = low;
  for (std::int64_t count = std::max<std::int64_t>(0, low - 32); count <= std::min(n - 1, low + 32); ++count)
    if (cost(count) < cost(best)) best = count;
  return divide(best);
}

Schedule make_once(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  require_known_steps("diskrevolve-once", request);
  const std::int64_t slots = take_host_slots("diskrevolve-once", request, 1, std::max<std::int64_t>(1, n - 1));
  return once("diskrevolve-once", request, best_parts(n, slots, request.costs), slots);
}

/// The length with the least cost per step of a part; the cost per step has its minimum where the repetition changes.
std::int64_t best_period(std::int64_t n, std::int64_t slots, const ScheduleCosts& costs) {
  std::int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = 0, length = 0; length < n; ++r) {
    length = std::min(n, beta(slots, r));
    const double cost = (costs.forward * static_cast<double>(length + binomial_plain_steps(length, slots)) +
                         costs.write[disk] + costs.read[disk]) /
                        static_cast<double>(length);
    if (cost > least) break;
    least = cost;
    best = length;
  }
  return best;
}

Schedule make_periodic(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  require_known_steps("periodic", request);
  const std::int64_t slots = take_host_slots("periodic", request, 1, std::max<std::int64_t>(1, n - 1));
  const std::int64_t period = request.period > 0 ? request.period : best_period(n, slots, request.costs);
  const std::int64_t count = (n - 1) / period;
  return once("periodic", request, {count, period, 0, n - count * period}, slots);
}

ScheduleMemory memory_of_levels(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  return {Levels::bytes(n, useful_of(request.capacities[Tier::host], n), useful_of(request.capacities[Tier::disk], n)),
          0};
}

Schedule make_many(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  require_known_steps("diskrevolve", request);
  const std::int64_t slots = take_host_slots("diskrevolve", request, 0, std::max<std::int64_t>(1, n - 1));
  const SlowTier tier{Tier::disk, std::max<std::int64_t>(1, n - 1), request.costs.write[disk],
                      request.costs.read[disk]};
  const Levels levels = Levels::best({n, Tier::host, slots, {tier}, request.costs.forward});
  take_slots("diskrevolve", request, Tier::disk, levels.writes(0), levels.writes(0));
  Schedule schedule{predict("diskrevolve", n, levels.plain()), [levels] { return levels.actions(); }};
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  schedule.predicted.peak = only_host(slots);
  schedule.predicted.writes[disk] = schedule.predicted.peak[disk] = levels.writes(0);
  schedule.predicted.reads[disk] = levels.reads(0);
  return schedule;
}

}  // namespace

ScheduleKind diskrevolve_schedule() {
  return {"diskrevolve",   "the least cost with as much disk as it asks for", make_many, false, nullptr, nullptr, false,
          memory_of_levels};
}

ScheduleKind diskrevolve_once_schedule() {
  return {"diskrevolve-once",
          "the least cost when each state on disk is read once",
          make_once,
          false,
          nullptr,
          nullptr,
          false,
          memory_of_sweeps};
}

ScheduleKind periodic_schedule() {
  return {"periodic",    "a state on disk every m steps, with the m that costs least per step; Revolve between",
          make_periodic, false,
          nullptr,       nullptr,
          false,         memory_of_sweeps};
}

}  // namespace hindsight
