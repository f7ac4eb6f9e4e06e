// What operations cost, measured on this machine.
#include <algorithm>

#include "adjoint/gradients/planned_checkpoints.hpp"
#include "adjoint/plan/timeline.hpp"
#include "adjoint/schedule/mixed.hpp"
#include "adjoint/schedule/report.hpp"
#include "runtime/fresh_memory.hpp"

namespace hindsight {

void PlannedCheckpoints::plan_measured() {
  constexpr double is_long = 10, part = 1.5e-4, most = 0.1;  // seconds; of the gradient's time, and seconds of a sample
  means_.uses_disk = true;
  has_known_costs_ = false;
  set_depth(depth_);
  const int repeats = means_.inputs.at_most < 50 ? 1 : means_.inputs.at_most < 500 ? 3 : 5;
  measure_steps(repeats, options_.only_plan ? 5e-3 : 1e-3);
  measure_transfers();
  if (options_.costs.empty()) {
    means_.inputs.seconds.look = inputs().overlap.prefetch > 0 ? comm_.max(measure_look()) : 0.0;
    measure_memory();
    const double seconds = comm_.max(plan_alone().seconds), batch = std::min(most, part * seconds);
    if (seconds >= is_long && means_.inputs.seconds.forward <= batch) measure_steps(9, batch);
  }
  make_plan();
}

/// @returns whether all ranks have met memory that does not lie ready, in so many bytes at most.
bool PlannedCheckpoints::sample_memory(std::int64_t piece, std::int64_t bytes) {
  OperationSeconds& seconds = means_.inputs.seconds;
  const auto unit = static_cast<double>(unit_bytes(Tier::host, inputs()));
  const CountMemory counted(simulation_.memory());
  FreshMemory sample(piece);
  comm_.together([&] { sample.take_up_to(bytes); });
  seconds.touch = comm_.max(unit * sample.ready_seconds());
  seconds.touch_more = std::max(seconds.touch_more, comm_.max(unit * sample.unready_seconds()));
  seconds.ready_units = -comm_.max(-static_cast<double>(sample.bytes()) / unit);
  return !comm_.any(!sample.has_met_unready());
}

/// Step by step, on a part of what is planned, until memory is met that does not lie ready. Of a schedule that is asked
/// for, which nothing is compared with, and of a plan that is only shown, and so may be another than a run's, little.
void PlannedCheckpoints::measure_memory() {
  constexpr std::int64_t smallest = std::int64_t{1} << 20U, largest_piece = std::int64_t{4} << 20U, growth = 4;
  const std::int64_t part = options_.only_plan || inputs().schedule != "auto" ? 16 : 4;
  const Tier host = Tier::host;
  const auto useful = static_cast<double>(saturating_units(means_.inputs.at_most, means_.inputs.record_units));
  const auto unit = static_cast<double>(unit_bytes(host, inputs()));
  const std::int64_t in_budget = means_.budgets[index_of(host)] - simulation_.memory()->used();
  const std::int64_t there = least_of_ranks(std::min(in_budget, default_host_budget(comm_, options_.memory).bytes));
  const auto most = static_cast<std::int64_t>(comm_.max(std::min(useful * unit, static_cast<double>(there))));
  OperationSeconds& seconds = means_.inputs.seconds;
  seconds.touch = seconds.touch_more = seconds.ready_units = 0.0;
  if (most < smallest) return;
  const std::int64_t piece = std::min(largest_piece, most / 8);
  bool has_met_all = false;
  for (std::int64_t size = 2 * piece, wanted = size; size > 0 && !has_met_all;
       size = wanted > 2 * size ? std::min(wanted, growth * size) : 0) {
    has_met_all = sample_memory(piece, size);
    wanted = std::min(most, comm_.max(plan_alone().checkpoint_bytes(host, inputs())) / part);
  }
}

void PlannedCheckpoints::measure_steps(int repeats, double batch) {
  drop_plan();
  const Tier memory = means_.inputs.memory();
  const std::int64_t unit = means_.inputs.state_bytes + (memory == Tier::host ? Simulation::measured_table_bytes : 0);
  std::int64_t fit = means_.bytes_for_slots(memory) / unit;
  if (memory == Tier::device && !means_.is_in_slots(Tier::host))
    fit = std::min(fit, means_.bytes_for_slots(Tier::host) / Simulation::measured_table_bytes);
  const std::int64_t units = -comm_.max(-fit);
  OperationSeconds& seconds = means_.inputs.seconds;
  const bool rehearses = options_.costs.empty();  // those who give costs mean what they give
  static_cast<StepSeconds&>(seconds) = simulation_.measure(repeats, batch, units, rehearses);
  keep_in_memory();
  const ScheduleCosts measured = seconds.of_schedule();
  const ScheduleCosts costs = parse_costs(options_.costs, measured);
  seconds.record_last *= costs.reverse / measured.reverse;
  seconds.reverse *= costs.reverse / measured.reverse;
  seconds.reverse_kept *= costs.reverse / measured.reverse;
  seconds.record *= costs.forward / measured.forward;
  seconds.forward = costs.forward;
}

/// States stay in the memory that they are made in, unless that holds them coded.
void PlannedCheckpoints::keep_in_memory() {
  const Tier memory = means_.inputs.memory();
  if (tiers_->is_asked_for(memory)) return;
  means_.inputs.seconds.write[index_of(memory)] = means_.inputs.seconds.save;
  means_.inputs.seconds.read[index_of(memory)] = means_.inputs.seconds.load;
}

void PlannedCheckpoints::measure_transfers() {
  drop_plan();
  OperationSeconds& seconds = means_.inputs.seconds;
  seconds.write = seconds.read = seconds.write_delay = seconds.read_delay = {};
  keep_in_memory();
  for (const Tier tier : {Tier::host, Tier::disk}) {
    if (!tiers_->is_asked_for(tier) || means_.inputs.units[tier] == 0) continue;
    const TransferSeconds transfer = tiers_->measure(tier, means_.bytes_for_slots(tier));
    seconds.write[index_of(tier)] = transfer.write;
    seconds.read[index_of(tier)] = transfer.read;
    if (!options_.costs.empty()) continue;
    seconds.write_delay[index_of(tier)] = transfer.write_delay;
    seconds.read_delay[index_of(tier)] = transfer.read_delay;
  }
  count();
  const ScheduleCosts costs = parse_costs(options_.costs, seconds.of_schedule());
  seconds.write = costs.write;
  seconds.read = costs.read;
}

}  // namespace hindsight
