#include "adjoint/plan/choice.hpp"

#include <fmt/format.h>

#include <fstream>

#include "src/error.hpp"

namespace hindsight {
namespace {

std::int64_t checkpoint_bytes(const MemoryNeeds& needs, Content content) {
  return content == Content::record ? needs.record : needs.state;
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, units[unit]);
}

CheckpointPlan choose_schedule(const std::string& schedule, std::int64_t steps, const HostBudget& budget,
                               const MemoryNeeds& needs) {
  CheckpointPlan plan;
  plan.automatic = schedule == "auto";
  const std::int64_t total = budget.slots ? needs.working + *budget.slots * needs.state : budget.bytes.value_or(0);
  const std::int64_t least = needs.working + needs.state;
  if (total < least)
    throw InputError(
        fmt::format("checkpoints.host: {} is too little: a gradient needs {} of working memory and at "
                    "least one checkpoint of {}, together {}",
                    bytes_text(total), bytes_text(needs.working), bytes_text(needs.state), bytes_text(least)));
  const std::int64_t slots = (total - needs.working) / needs.state;
  const bool all_records = steps - 1 <= (total - needs.working) / needs.record;
  plan.request.steps = steps;
  plan.request.content = all_records && (plan.automatic || schedule == "store-all") ? Content::record : Content::state;
  plan.request.capacities.slots[static_cast<std::size_t>(Tier::host)] =
      plan.request.content == Content::record ? steps - 1 : slots;
  std::string name = schedule;
  if (plan.automatic) name = all_records || steps - 1 <= slots ? "store-all" : "revolve";
  plan.kind = &schedule_kind(name);
  plan.plain = plan.kind->plain_steps(plan.request);
  const std::int64_t used = plan.kind->slots_used(plan.request);
  if (name == "store-all" && used > plan.request.capacities[Tier::host])
    throw InputError(fmt::format("checkpoints: store-all needs {} for {} steps, but checkpoints.host gives {}",
                                 bytes_text(needs.working + used * needs.state), steps, bytes_text(total)));
  plan.request.capacities.slots[static_cast<std::size_t>(Tier::host)] = used;
  plan.budget_bytes = total;
  plan.peak_bytes = needs.working + used * checkpoint_bytes(needs, plan.request.content);
  return plan;
}

std::int64_t default_host_budget(const Communicator& comm) {
  std::ifstream file("/proc/meminfo");
  std::int64_t available = std::int64_t{2} << 20;  // kB, where the system does not say
  for (std::string word; file >> word;)
    if (word == "MemAvailable:") file >> available;
  MPI_Comm node = MPI_COMM_NULL;
  int ranks = 1;
  MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  return -comm.max(-(available * 1024 / 2 / ranks));
}

}  // namespace hindsight
