// Which schedule fits a budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "adjoint/schedule/schedule.hpp"
#include "src/communicator.hpp"

namespace hindsight {

/// Bytes on this rank, padding included.
struct MemoryNeeds {
  std::int64_t state = 0;    ///< a checkpoint of a state
  std::int64_t record = 0;   ///< a checkpoint of a step's stages, with the state it starts from
  std::int64_t working = 0;  ///< what a gradient needs beside checkpoints
};

/// Host memory that a gradient may use: bytes in all (working memory included), or a number of state checkpoints.
struct HostBudget {
  std::optional<std::int64_t> bytes, slots;
};

struct CheckpointPlan {
  const ScheduleKind* kind = nullptr;
  ScheduleRequest request;  ///< capacities are what the schedule will use
  std::int64_t plain = 0;   ///< predicted plain steps
  std::int64_t budget_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< predicted, working memory included
  bool automatic = false;
};

/// `auto` takes store-all with stage records when they fit, store-all with states when those fit, Revolve otherwise.
/// @throws InputError when the budget is too small for the working memory and one checkpoint, saying what is needed.
CheckpointPlan choose_schedule(const std::string& schedule, std::int64_t steps, const HostBudget& budget,
                               const MemoryNeeds& needs);

/// Half of the memory that the operating system says is available, shared by the ranks of a node.
std::int64_t default_host_budget(const Communicator& comm);

/// "1.5 GiB"
std::string bytes_text(std::int64_t bytes);

}  // namespace hindsight
