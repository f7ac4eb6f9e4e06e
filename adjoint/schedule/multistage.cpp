// Multistage: Revolve's actions, with the most used of its slots in the fastest tier and so on (Stumm, Walther 2009,
// SIAM J. Sci. Comput. 31). The fewest plain steps for all slots together; traffic is not weighed against them.
#include <algorithm>
#include <memory>
#include <numeric>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t most_counted = 400'000'000;  // steps: about a minute

struct Use {
  std::int64_t writes = 0, reads = 0;
};

/// How often each slot of a Revolve sweep is written and read. Takes as long as the sweep has saves.
CountedVector<Use> count_use(std::int64_t steps, std::int64_t slots) {
  CountedVector<Use> use(static_cast<std::size_t>(slots));
  BinomialSweep sweep({0, steps, slots, steps - 1}, {{Tier::host, 0}, {Tier::host, 1}});
  for (ActionBatch batch; sweep.next(batch);) {
    stop_if_asked();
    for (const Action& action : batch) {
      if (const auto* save = std::get_if<Save>(&action)) ++use[static_cast<std::size_t>(save->slot.index)].writes;
      if (const auto* load = std::get_if<Load>(&action)) ++use[static_cast<std::size_t>(load->slot.index)].reads;
    }
  }
  return use;
}

using SlotTable = CountedVector<Slot>;

ActionStream actions(std::int64_t steps, std::shared_ptr<const SlotTable> table) {
  BinomialSweep sweep({0, steps, static_cast<std::int64_t>(table->size()), steps - 1}, SlotOrder(table->data()));
  for (ActionBatch batch; sweep.next(batch);)
    for (const Action& action : batch) co_yield action;
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("multistage", request);
  const std::int64_t n = request.steps, useful = std::max<std::int64_t>(1, n - 1);
  std::int64_t slots = 0;
  PerTier given{};
  for (std::size_t t = 0; t < tier_count; ++t) {
    const std::int64_t capacity = request.capacities.slots[t];
    given[t] = std::min(capacity < 0 ? useful : capacity, useful - slots);
    slots += given[t];
  }
  if (slots < 1) take_slots("multistage", request, Tier::host, 1, useful);
  if (n > most_counted)
    throw InputError("schedule multistage: to count how often each slot is used would take minutes for " +
                     std::to_string(n) + " steps, at most " + std::to_string(most_counted) +
                     " are counted; use revolve or hrevolve");
  const CountedVector<Use> use = count_use(n, slots);
  CountedVector<std::size_t> busiest(use.size());
  std::iota(busiest.begin(), busiest.end(), std::size_t{0});
  std::stable_sort(busiest.begin(), busiest.end(), [&](std::size_t a, std::size_t b) {
    return use[a].writes + use[a].reads > use[b].writes + use[b].reads;
  });
  Schedule schedule{predict("multistage", n, binomial_plain_steps(n, slots)), nullptr};
  const auto table = std::make_shared<SlotTable>(use.size());
  std::size_t next = 0;
  for (std::size_t t = 0; t < tier_count; ++t)
    for (std::int64_t i = 0; i < given[t]; ++i) {
      const std::size_t depth = busiest[next++];
      (*table)[depth] = {static_cast<Tier>(t), i};
      schedule.predicted.writes[t] += use[depth].writes;
      schedule.predicted.reads[t] += use[depth].reads;
    }
  schedule.predicted.peak = given;
  schedule.actions = [n, table = std::shared_ptr<const SlotTable>(table)] { return actions(n, table); };
  return schedule;
}

ScheduleMemory memory(const ScheduleRequest& request) {
  const std::int64_t useful = std::max<std::int64_t>(1, request.steps - 1);
  std::int64_t slots = 0;
  for (const std::int64_t given : request.capacities.slots) slots += useful_of(given, useful - slots);
  // To be made it runs through its actions, and sorts slots by how often they are used.
  const auto sorting = static_cast<std::int64_t>(sizeof(Use) + 2 * sizeof(std::size_t));
  return {BinomialSweep::bytes(request.steps, slots), slots * static_cast<std::int64_t>(sizeof(Slot)), slots * sorting};
}

}  // namespace

ScheduleKind multistage_schedule() {
  return {
      "multistage", "Revolve over all tiers, its most used slots in the fastest", make, false, nullptr, nullptr, true,
      memory};
}

}  // namespace hindsight
