// From budgets and costs to the schedule that makes a gradient fastest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "runtime/communicator.hpp"
#include "runtime/host_memory.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// What is to be planned. All ranks plan with the same numbers.
struct PlanInputs {
  std::string schedule = "auto";      ///< or the name of a schedule
  std::int64_t steps = 1;             ///< or unknown_steps
  std::int64_t at_most = 0;           ///< unknown_steps: the latest end
  std::int64_t likely_steps = 0;      ///< unknown_steps: as many as a run before had; 0: nobody knows
  std::string open_because = {};      ///< unknown_steps: in words, what decides how many there will be
  std::string working_note = {};      ///< what takes most of the working memory, to be added to a sentence
  Capacities units;                   ///< per tier, of one state, working memory not included
  std::int64_t record_units = 1;      ///< that a stage record takes
  std::int64_t state_bytes = 0;       ///< of one unit in memory, on this rank
  PerTier slot_bytes{};               ///< of one unit in slow tiers, on this rank; 0: as in memory
  std::int64_t host_table_bytes = 0;  ///< that are kept about one unit in host memory, on this rank
  /// Host memory for units there and what schedules keep, the least of all ranks, and what one unit takes of it with
  /// its tables, the most of all ranks.
  std::int64_t host_bytes = unlimited_bytes, host_unit_bytes = 0;
  bool are_spans = false;         ///< steps are spans of steps, whose states are all kept (Simulation::use_spans())
  bool are_first_levels = false;  ///< checkpoints are records of all steps, of less than a state each
                                  ///< (Simulation::keep_first_levels())
  /// Why schedules that walk back are refused, in a sentence; empty: they are not.
  std::string no_walking_back = "no error is accepted of states that are walked back to";
  std::int64_t left_behind_bytes = 0;  ///< host memory that walking back takes for each step, the most of all ranks
  bool keeps_records = true;           ///< the memory that states are made in may hold stage records: it is not coded
  PerTier working_bytes{};             ///< memory that a gradient needs beside checkpoints, that of transfers included
  PerTier most_working{};      ///< the same of the rank that needs the most, for what people are told; 0: this one
  std::int64_t period = 0;     ///< of periodic schedules; 0: they choose
  std::int64_t gradients = 1;  ///< for which memory is made once
  OperationSeconds seconds;
  Overlap overlap;  ///< of transfers to and from slow tiers

  Tier memory() const { return seconds.memory; }
  std::int64_t working(Tier tier) const { return working_bytes[index_of(tier)]; }
};

/// Bytes of one unit in a tier, on this rank.
inline std::int64_t unit_bytes(Tier tier, const PlanInputs& inputs) {
  const std::int64_t bytes = inputs.slot_bytes[index_of(tier)];
  return bytes > 0 ? bytes : inputs.state_bytes;
}

/// The same with what is kept about it in the same tier.
inline std::int64_t taken_bytes(Tier tier, const PlanInputs& inputs) {
  return unit_bytes(tier, inputs) + (tier == Tier::host ? inputs.host_table_bytes : 0);
}

/// What there is to tell about: host memory, the memory that states are made in, and tiers with slots.
inline std::vector<Tier> tiers_in_use(const PlanInputs& inputs) {
  std::vector<Tier> all;
  for (const Tier tier : {Tier::device, Tier::host, Tier::disk})
    if (tier == Tier::host || tier == inputs.memory() || inputs.units[tier] != 0) all.push_back(tier);
  return all;
}

struct CheckpointPlan {
  const ScheduleKind* kind = nullptr;
  ScheduleRequest request;  ///< capacities are what the schedule will use
  Schedule schedule;
  std::int64_t schedule_bytes = 0;  ///< host memory that its schedule keeps while it runs
  double seconds = 0.0;             ///< of a gradient, predicted
  double memory_seconds = 0.0;      ///< of making the memory of checkpoints, once for all gradients, predicted
  bool is_automatic = false;
  /// With a slow tier whose transfers stop the work: no schedule of restart states takes less time than this.
  std::optional<double> proven_least_seconds;

  bool is_open() const { return request.steps == unknown_steps; }
  /// Whether counts and seconds are known beforehand; those of online schedules never are.
  bool is_predicted() const { return schedule.predicted.reversed != unpredicted; }
  /// Forward steps taken per step of the run: 1 when every step is taken once.
  double recomputation() const;
  /// Bytes of checkpoints in a tier at most, with all that is kept about them there, on this rank.
  std::int64_t checkpoint_bytes(Tier tier, const PlanInputs& inputs) const;
};

/// Of a run whose end is open, records of the last steps that are worth their memory. Where a run before tells how many
/// steps there will be, all of them and some more, as far as the states of the others fit beside them. Else as many as
/// take little memory (4 MiB) and leave room for the states of all steps, or take a quarter of the room.
std::int64_t open_records(const PlanInputs& inputs);

/// The schedule asked for; for `auto` the fastest predicted among all families that fit: store-all with stage records
/// or states, Revolve, CAMS (states and records mixed), H-Revolve over all tiers, walking back where that may be,
/// online when the steps are unknown. Memory that is written for the first time takes its time too, so of one gradient
/// that is only recomputed a little more, the plan with less memory may be the faster one; memory that makes a gradient
/// no faster is not taken.
/// @throws InputError when nothing fits, saying what is needed.
CheckpointPlan make_plan(const PlanInputs& inputs);

/// Host memory that a plan's schedule keeps while it runs, of its own actions and those that are looked at ahead.
std::int64_t schedule_bytes(const CheckpointPlan& plan, const PlanInputs& inputs);
/// The same while it is made, when no checkpoints are there.
std::int64_t bytes_to_make(const CheckpointPlan& plan, const PlanInputs& inputs);

/// @throws InputError when not even one checkpoint fits.
void require_memory(const PlanInputs& inputs);

/// What a gradient needs of a tier beside its working memory, when no slower one has slots: one checkpoint and what a
/// schedule keeps about it.
std::int64_t least_checkpoint_bytes(Tier tier, const PlanInputs& inputs);

/// Every family that meets the request, by predicted time.
std::vector<CheckpointPlan> all_plans(const PlanInputs& inputs);

/// Predicted seconds of a schedule whose transfers stop the work.
double predicted_seconds(const Schedule& schedule, const OperationSeconds& seconds);

/// Host memory of a rank.
struct HostBudget {
  std::int64_t bytes = 0;
  std::string source;  ///< "half of 23.1 GiB available, shared by 2 ranks"
};

/// Half of the memory that there is (runtime/host_memory.hpp), shared by the ranks of a node; the least of all ranks.
/// Collective. @param known of this rank's node; none: its ranks are those of `comm`.
HostBudget default_host_budget(const Communicator& comm, const std::optional<NodeMemory>& known = {});

/// What is to be said of a budget that was asked for: nothing, or that it is more than there is. The same on all ranks.
/// Collective. @param known as above.
std::string warning_of_budget(std::int64_t bytes, const Communicator& comm,
                              const std::optional<NodeMemory>& known = {});

/// "1.5 GiB"
std::string bytes_text(std::int64_t bytes);
std::string bytes_text(double bytes);
/// The same, rounded up where it is rounded: who gives so much gives enough.
std::string enough_text(std::int64_t bytes);
/// "25 ns", "12 ms", "3.4 s", "2 h 05 min"
std::string seconds_text(double seconds);

}  // namespace hindsight
