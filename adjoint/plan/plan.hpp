// From budgets and costs to the schedule that makes a gradient fastest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "src/communicator.hpp"

namespace hindsight {

/// Seconds of one operation.
struct OperationSeconds {
  double forward = 1.0;                            ///< a plain step
  double record = 1.0, reverse_kept = 1.0;         ///< of a step whose record goes into a slot
  double record_last = 0.0, reverse = 1.0;         ///< of a step recorded to be reversed at once
  std::array<double, tier_count> write{}, read{};  ///< of one state
};

/// What is to be planned. All ranks plan with the same numbers.
struct PlanInputs {
  std::string schedule = "auto";   ///< or the name of a schedule
  std::int64_t steps = 1;          ///< or unknown_steps
  std::int64_t at_most = 0;        ///< unknown_steps: the latest end
  Capacities units;                ///< per tier, of one state, working memory not included
  std::int64_t record_units = 1;   ///< that a stage record takes
  std::int64_t state_bytes = 0;    ///< of one unit on this rank
  std::int64_t working_bytes = 0;  ///< host memory that a gradient needs beside checkpoints
  std::int64_t period = 0;         ///< of periodic schedules; 0: they choose
  OperationSeconds seconds;
};

struct CheckpointPlan {
  const ScheduleKind* kind = nullptr;
  ScheduleRequest request;  ///< capacities are what the schedule will use
  Schedule schedule;
  double seconds = 0.0;  ///< predicted
  bool is_automatic = false;
  /// With a slow tier: no schedule of restart states takes less time than this.
  std::optional<double> proven_least_seconds;

  bool is_open() const { return request.steps == unknown_steps; }
  /// Forward steps taken per step of the run: 1 when every step is taken once.
  double recomputation() const;
  /// Bytes of checkpoints in a tier at most, on this rank.
  std::int64_t checkpoint_bytes(Tier tier, const PlanInputs& inputs) const;
};

/// The schedule asked for; for `auto` the fastest predicted among all families that fit: store-all with stage records
/// or states, Revolve, CAMS (states and records mixed), H-Revolve over all tiers, online when the steps are unknown.
/// @throws InputError when nothing fits, saying what is needed.
CheckpointPlan make_plan(const PlanInputs& inputs);

/// Every family that meets the request, by predicted time.
std::vector<CheckpointPlan> all_plans(const PlanInputs& inputs);

/// Predicted seconds of a schedule; transfers stop the work.
double predicted_seconds(const Schedule& schedule, const OperationSeconds& seconds);

/// Half of the memory that the operating system says is available, shared by the ranks of a node.
std::int64_t default_host_budget(const Communicator& comm);

/// "1.5 GiB"
std::string bytes_text(std::int64_t bytes);
/// "25 ns", "12 ms", "3.4 s", "2 h 05 min"
std::string seconds_text(double seconds);

}  // namespace hindsight
