#include <algorithm>
#include <string>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "runtime/error.hpp"

namespace hindsight {

Registry<ScheduleKind>& schedules() {
  static Registry<ScheduleKind> all(
      "checkpoint schedule", {store_all_schedule(), none_schedule(), uniform_schedule(), revolve_schedule(),
                              multistage_schedule(), hrevolve_schedule(), diskrevolve_schedule(),
                              diskrevolve_once_schedule(), periodic_schedule(), twolevel_schedule(), mixed_schedule(),
                              cams_schedule(), stride_schedule(), walk_back_schedule(), online_schedule()});
  return all;
}

void require_known_steps(const std::string& schedule, const ScheduleRequest& request) {
  if (request.steps == unknown_steps)
    throw InputError("schedule " + schedule +
                     ": it needs to know the number of steps; where that is open use 'online'");
  if (request.steps < 1) {
    throw InputError("schedule " + schedule + ": the number of steps is " + std::to_string(request.steps) +
                     ", at least 1 is needed");
  }
}

std::int64_t take_slots(const std::string& schedule, const ScheduleRequest& request, Tier tier, std::int64_t needed,
                        std::int64_t useful) {
  if (request.steps != unknown_steps) require_known_steps(schedule, request);
  const std::int64_t given = request.capacities[tier];
  const TierRoles& roles = request.roles;
  const Tier played = tier == Tier::host ? roles.memory : tier == Tier::disk ? roles.slow : tier;
  if (given >= 0 && given < needed) {
    throw InputError("schedule " + schedule + ": " +
                     (request.steps == unknown_steps ? "" : std::to_string(request.steps) + " steps need ") +
                     "at least " + std::to_string(needed) + (needed == 1 ? " slot" : " slots") + " in " +
                     to_text(played) + (played == Tier::disk ? "" : " memory") + ", " + std::to_string(given) +
                     " are given");
  }
  return useful_of(given, useful);
}

std::int64_t take_host_slots(const std::string& schedule, const ScheduleRequest& request, std::int64_t needed,
                             std::int64_t useful) {
  return take_slots(schedule, request, Tier::host, needed, useful);
}

ScheduleMemory memory_of_sweeps(const ScheduleRequest& request) {
  const std::int64_t most = request.steps == unknown_steps ? request.at_most : request.steps;
  return {BinomialSweep::bytes(most, useful_of(request.capacities[Tier::host], most) + 1), 0};
}

PerTier only_host(std::int64_t value) {
  PerTier all{};
  all[index_of(Tier::host)] = value;
  return all;
}

ScheduleCounts predict(const std::string& schedule, std::int64_t n, std::int64_t plain) {
  if (plain == endless)
    throw InputError("schedule " + schedule + ": " + std::to_string(n) +
                     " steps with so few slots take more plain steps than 64 bits count; give more slots");
  ScheduleCounts counts;
  counts.plain = plain;
  counts.recorded = counts.reversed = n;
  return counts;
}

}  // namespace hindsight
