#include <algorithm>
#include <string>
#include <vector>

#include "adjoint/schedule/kinds.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "src/error.hpp"
#include "src/nearest_name.hpp"

namespace hindsight {

const std::vector<ScheduleKind>& schedules() {
  static const std::vector<ScheduleKind> list{store_all_schedule(), none_schedule(), uniform_schedule(),
                                              revolve_schedule()};
  return list;
}

const ScheduleKind& schedule_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedules()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw InputError("unknown checkpoint schedule '" + name + "'" + did_you_mean(name, names) +
                   " (allowed: " + join(names) + ")");
}

std::int64_t take_host_slots(const std::string& schedule, const ScheduleRequest& request, std::int64_t needed,
                             std::int64_t useful) {
  if (request.steps < 1) {
    throw InputError("schedule " + schedule + ": the number of steps is " + std::to_string(request.steps) +
                     ", at least 1 is needed");
  }
  const std::int64_t given = request.capacities[Tier::host];
  if (given >= 0 && given < needed) {
    throw InputError("schedule " + schedule + ": " + std::to_string(request.steps) + " steps need at least " +
                     std::to_string(needed) + (needed == 1 ? " slot" : " slots") + " in host memory, " +
                     std::to_string(given) + " are given");
  }
  return given < 0 ? useful : std::min(given, useful);
}

void refuse_endless(const std::string& schedule, std::int64_t steps) {
  throw InputError("schedule " + schedule + ": " + std::to_string(steps) +
                   " steps with so few slots take more plain steps than 64 bits count; give more slots");
}

}  // namespace hindsight
