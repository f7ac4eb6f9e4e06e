#include <limits>

#include "adjoint/schedule/kinds.hpp"
#include "src/error.hpp"
#include "src/nearest_name.hpp"

namespace hindsight {

const std::vector<ScheduleKind>& schedules() {
  static const std::vector<ScheduleKind> all = {store_all_schedule(), none_schedule(), uniform_schedule(),
                                                revolve_schedule()};
  return all;
}

const ScheduleKind& schedule_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedules()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw InputError("unknown schedule '" + name + "'" + did_you_mean(name, names) + "; known: " + join(names));
}

std::int64_t host_slots(const ScheduleRequest& request, std::int64_t least, const std::string& schedule) {
  if (request.steps < 1) throw InputError("a schedule needs at least one step");
  const std::int64_t slots = request.capacities[Tier::host];
  if (slots < 0) return std::numeric_limits<std::int64_t>::max();
  if (slots < least)
    throw InputError("schedule " + schedule + " needs at least " + std::to_string(least) + " host slot" +
                     (least == 1 ? "" : "s") + " for " + std::to_string(request.steps) + " steps, but has " +
                     std::to_string(slots));
  return slots;
}

}  // namespace hindsight
