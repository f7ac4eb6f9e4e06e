#include "adjoint/schedule/roles.hpp"

#include <utility>

namespace hindsight {
namespace {

Tier played_by(Tier tier, TierRoles roles) {
  return tier == Tier::host ? roles.memory : tier == Tier::disk ? roles.slow : tier;
}

struct Renaming {
  TierRoles roles;
  void operator()(Slot& slot) const { slot.tier = played_by(slot.tier, roles); }
  void operator()(Save& a) const { (*this)(a.slot); }
  void operator()(Load& a) const { (*this)(a.slot); }
  void operator()(Release& a) const { (*this)(a.slot); }
  void operator()(Move& a) const {
    (*this)(a.from);
    (*this)(a.to);
  }
  template <class Other>
  void operator()(Other&) const {}
};

/// One at a time, since the other schedule may ask for the end.
ActionStream renamed(std::function<ActionStream()> actions, TierRoles roles) {
  ActionStream stream = actions();
  co_await OneAtATime{};
  std::int64_t end = -1;
  while (const Action* next = stream.next()) {
    Action action = *next;
    std::visit(Renaming{roles}, action);
    co_yield std::as_const(action);
    if (end >= 0) continue;
    end = co_await EndOfRun{};
    if (end >= 0) stream.finish_at(end);
  }
}

/// A value per tier, from what the tiers that play others have.
template <class Value>
std::array<Value, tier_count> moved(const std::array<Value, tier_count>& values, TierRoles roles) {
  std::array<Value, tier_count> to{};
  for (const Tier tier : {Tier::host, Tier::disk}) to[index_of(played_by(tier, roles))] = values[index_of(tier)];
  return to;
}

template <class Value>
std::array<Value, tier_count> moved_back(const std::array<Value, tier_count>& values, TierRoles roles) {
  std::array<Value, tier_count> to{};
  for (const Tier tier : {Tier::host, Tier::disk}) to[index_of(tier)] = values[index_of(played_by(tier, roles))];
  return to;
}

bool is_as_it_is(const ScheduleKind& kind, TierRoles roles) {
  return kind.takes_any_tiers || (roles.memory == Tier::host && roles.slow == Tier::disk);
}

}  // namespace

ScheduleRequest seen_by(const ScheduleKind& kind, const ScheduleRequest& request) {
  ScheduleRequest seen = request;
  if (is_as_it_is(kind, request.roles)) return seen;
  seen.capacities.slots = moved_back(request.capacities.slots, request.roles);
  for (auto transfers :
       {&ScheduleCosts::write, &ScheduleCosts::read, &ScheduleCosts::write_delay, &ScheduleCosts::read_delay})
    seen.costs.*transfers = moved_back(request.costs.*transfers, request.roles);
  return seen;
}

Schedule make_schedule(const ScheduleKind& kind, const ScheduleRequest& request) {
  Schedule schedule = kind.make(seen_by(kind, request));
  if (is_as_it_is(kind, request.roles)) return schedule;
  for (PerTier* counts : {&schedule.predicted.writes, &schedule.predicted.reads, &schedule.predicted.peak})
    *counts = moved(*counts, request.roles);
  schedule.actions = [actions = std::move(schedule.actions), roles = request.roles] { return renamed(actions, roles); };
  return schedule;
}

}  // namespace hindsight
