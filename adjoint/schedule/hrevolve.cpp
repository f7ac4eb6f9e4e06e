// H-Revolve: the least cost for any stack of tiers with capacities, write and read costs. Counting by levels
// (levels.hpp) where the fastest tier is free and there is one other, or where the dynamic program would take too long;
// the dynamic program else.
#include <algorithm>
#include <memory>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "adjoint/schedule/levels.hpp"
#include "adjoint/schedule/tier_program.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr double affordable = 4e8;  // operations of the dynamic program: well under a second

std::vector<ProgramTier> stack(const ScheduleRequest& request) {
  const std::int64_t useful = std::max<std::int64_t>(1, request.steps - 1);
  std::vector<ProgramTier> tiers;
  for (std::size_t t = 0; t < tier_count; ++t) {
    const std::int64_t capacity = request.capacities.slots[t];
    if (capacity == 0) continue;
    tiers.push_back({static_cast<Tier>(t), capacity < 0 ? useful : std::min(capacity, useful), request.costs.write[t],
                     request.costs.read[t]});
  }
  if (tiers.empty()) take_slots("hrevolve", request, Tier::host, 1, 1);
  for (std::size_t k = 1; k < tiers.size(); ++k)
    if (tiers[k].write < tiers[k - 1].write || tiers[k].read < tiers[k - 1].read)
      throw InputError("schedule hrevolve: the costs of " + to_text(tiers[k].tier) + " are below those of " +
                       to_text(tiers[k - 1].tier) + "; each tier must cost at least what the faster one does");
  return tiers;
}

Schedule by_levels(const ScheduleRequest& request, const std::vector<ProgramTier>& tiers) {
  Levels::Problem problem{request.steps, tiers.front().tier, tiers.front().slots, {}, request.costs.forward};
  for (std::size_t k = 1; k < tiers.size(); ++k)
    problem.slow.push_back({tiers[k].tier, tiers[k].slots, tiers[k].write, tiers[k].read});
  const Levels levels = Levels::best(problem);
  Schedule schedule{predict("hrevolve", request.steps, levels.plain()), [levels] { return levels.actions(); }};
  const auto fast = index_of(tiers.front().tier);
  schedule.predicted.peak[fast] = tiers.front().slots;
  schedule.predicted.writes[fast] = schedule.predicted.reads[fast] = unpredicted;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    const auto t = index_of(tiers[k].tier);
    schedule.predicted.writes[t] = levels.writes(k - 1);
    schedule.predicted.reads[t] = levels.reads(k - 1);
    schedule.predicted.peak[t] = std::min(tiers[k].slots, levels.writes(k - 1));
  }
  return schedule;
}

bool is_by_program(const ScheduleRequest& request, const std::vector<ProgramTier>& tiers) {
  const bool is_free = tiers.front().write == 0 && tiers.front().read == 0;
  return !(is_free && tiers.size() <= 2) && TierProgram::operations(request.steps, tiers) <= affordable &&
         TierProgram::memory(request.steps, tiers).shared <= request.table_bytes;
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("hrevolve", request);
  std::vector<ProgramTier> tiers = stack(request);
  const bool is_free = tiers.front().write == 0 && tiers.front().read == 0;
  // A fast tier that costs something is like one more tier over a free one without slots.
  if (is_by_program(request, tiers)) {
    const auto program = std::make_shared<TierProgram>(request.steps, tiers, request.costs);
    return {program_counts(*program), [program] { return program_actions(*program); }};
  }
  if (!is_free) tiers.insert(tiers.begin(), ProgramTier{tiers.front().tier, 0, 0, 0});
  if (tiers.size() > 3)
    throw InputError("schedule hrevolve: " + std::to_string(request.steps) +
                     " steps are too many for three tiers that all cost something; the fastest must be free");
  return by_levels(request, tiers);
}

ScheduleMemory memory(const ScheduleRequest& request) {
  const std::int64_t useful = std::max<std::int64_t>(1, request.steps - 1);
  std::vector<ProgramTier> tiers;
  std::int64_t slow_slots = 0;
  for (std::size_t t = 0; t < tier_count; ++t) {
    const std::int64_t slots = useful_of(request.capacities.slots[t], useful);
    if (slots == 0) continue;
    if (!tiers.empty()) slow_slots += slots;
    tiers.push_back({static_cast<Tier>(t), slots, request.costs.write[t], request.costs.read[t]});
  }
  if (tiers.empty()) return {};
  if (is_by_program(request, tiers)) return TierProgram::memory(request.steps, tiers);
  const bool is_free = tiers.front().write == 0 && tiers.front().read == 0;
  const std::int64_t fast = is_free ? tiers.front().slots : 0;
  return {Levels::bytes(request.steps, fast, slow_slots + (is_free ? 0 : tiers.front().slots)), 0};
}

}  // namespace

ScheduleKind hrevolve_schedule() {
  return {"hrevolve", "the least cost for any stack of tiers (n known)", make, false, nullptr, nullptr, true, memory};
}

}  // namespace hindsight
