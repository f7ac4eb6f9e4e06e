#include "src/program/session.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "adjoint/schedule/report.hpp"
#include "src/error.hpp"
#include "src/ordered_sum.hpp"
#include "src/program/assemble.hpp"

namespace hindsight {
namespace {

/// Costs that lie this far from the prediction are measured again.
constexpr double drift = 1.2;
/// Shorter gradients tell nothing about costs.
constexpr double telling_seconds = 0.1;

/// Sum over the owned cells of all ranks, in global order.
template <class Summand>
double sum_over_cells(const Grid& grid, Summand summand) {
  const std::int64_t row_length = grid.dimensions() <= 1 ? 1 : grid.cells()[0];
  std::vector<double> rows(static_cast<std::size_t>(grid.local_rows()), 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < row_length; ++i)
      rows[r] += summand(r * static_cast<std::size_t>(row_length) + static_cast<std::size_t>(i));
  return grid_sum(grid, rows.data());
}

}  // namespace

Session::Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet, PlanOptions options)
    : case_(std::move(c)), comm_(comm), options_(std::move(options)), progress_(!quiet, comm.rank()) {
  const auto& checkpoints = case_.checkpoints;
  const bool has_disk = options_.only_plan || options_.emulated_disk;
  if (adjoint && checkpoints.device)
    throw InputError(checkpoints.device->place,
                     "checkpoints.device: this version computes on the host and has no device memory; remove the key");
  if (adjoint && checkpoints.disk && !has_disk)
    throw InputError(checkpoints.disk->place,
                     "checkpoints.disk: this version plans with a disk (hindsight plan), but keeps checkpoints in host "
                     "memory only; remove the key");
  simulation_ = std::make_unique<Simulation>(assemble(case_), comm, Simulation::Wants{adjoint, tangent});
  if (!adjoint) return;
  try {
    read_budgets();
    measure();
    make_plan();
  } catch (const InputError& error) {
    throw InputError(checkpoints.host ? checkpoints.host->place : checkpoints.place, error.what());
  }
}

/// All ranks plan with the capacities of the one that has the least.
void Session::read_budgets() {
  const auto& checkpoints = case_.checkpoints;
  const std::int64_t n = simulation_->plan().steps(), state = simulation_->state_bytes();
  inputs_.schedule = checkpoints.schedule;
  inputs_.steps = case_.time.until ? unknown_steps : n;
  inputs_.at_most = n;
  inputs_.period = checkpoints.period;
  inputs_.record_units = simulation_->record_units();
  inputs_.state_bytes = state;
  inputs_.working_bytes = simulation_->working_bytes();
  const auto& host = checkpoints.host;
  if (host && host->unit == CaseBudget::Unit::slots) {
    host_budget_ = inputs_.working_bytes + host->amount * state;
  } else {
    host_budget_ = host ? host->amount : default_host_budget(comm_);
  }
  const std::int64_t units = (host_budget_ - inputs_.working_bytes) / state;
  inputs_.units[Tier::host] = std::max<std::int64_t>(0, -comm_.max(-units));
  if (!checkpoints.disk) return;
  const std::int64_t disk =
      checkpoints.disk->unit == CaseBudget::Unit::slots ? checkpoints.disk->amount : checkpoints.disk->amount / state;
  inputs_.units[Tier::disk] = -comm_.max(-std::min(disk, std::max<std::int64_t>(1, n - 1)));
}

/// Costs as given, else as measured on a few steps.
void Session::measure() {
  constexpr auto disk = static_cast<std::size_t>(Tier::disk);
  const int repeats = inputs_.at_most < 50 ? 1 : inputs_.at_most < 500 ? 3 : 5;
  const double batch = options_.only_plan ? 5e-3 : 1e-3;
  const StepSeconds steps = simulation_->measure(repeats, batch, inputs_.units[Tier::host]);
  OperationSeconds& seconds = inputs_.seconds;
  seconds = {steps.forward, steps.record, steps.reverse_kept, steps.record_last, steps.reverse, {}, {}};
  seconds.write[static_cast<std::size_t>(Tier::host)] = steps.save;
  seconds.read[static_cast<std::size_t>(Tier::host)] = steps.load;
  if (inputs_.units[Tier::disk] > 0) {
    constexpr double assumed_rate = 1e9;  // bytes per second
    seconds.write[disk] = seconds.read[disk] = static_cast<double>(comm_.max(inputs_.state_bytes)) / assumed_rate;
    if (options_.emulated_disk) {
      const std::int64_t doubles = inputs_.state_bytes / static_cast<std::int64_t>(sizeof(double));
      if (!disk_)
        disk_ = std::make_unique<DelayedMemory>(inputs_.units[Tier::disk], doubles, options_.emulated_disk->first,
                                                options_.emulated_disk->second);
      std::tie(seconds.write[disk], seconds.read[disk]) = simulation_->measure(*disk_, repeats);
    }
  }
  const ScheduleCosts measured{seconds.forward, seconds.record_last + seconds.reverse, seconds.write, seconds.read};
  const ScheduleCosts costs = parse_costs(options_.costs, measured);
  seconds.record_last *= costs.reverse / measured.reverse;
  seconds.reverse *= costs.reverse / measured.reverse;
  seconds.reverse_kept *= costs.reverse / measured.reverse;
  seconds.record *= costs.forward / measured.forward;
  seconds.forward = costs.forward;
  seconds.write = costs.write;
  seconds.read = costs.read;
}

void Session::make_plan() {
  plan_ = hindsight::make_plan(inputs_);
  if (!options_.only_plan)
    simulation_->reserve_checkpoints(plan_.request.capacities[Tier::host], {nullptr, nullptr, disk_.get()});
}

double Session::add_priors(UnknownValues* gradient) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < case_.unknowns.size(); ++i) {
    if (!case_.unknowns[i].prior) continue;
    const Prior& prior = *case_.unknowns[i].prior;
    const std::vector<double>& values = simulation_->values()[i];
    const auto distance = [&](std::size_t k) { return (values[k] - prior.mean) / prior.sd; };
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return 0.5 * distance(k) * distance(k); });
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) sum += 0.5 * distance(k) * distance(k);
    }
    if (gradient != nullptr)
      for (std::size_t k = 0; k < values.size(); ++k) (*gradient)[i][k] += distance(k) / prior.sd;
  }
  return sum;
}

double Session::objective(const StateObserver& observer) {
  progress_.phase("forward", simulation_->plan().steps());
  const double value = simulation_->run(observer, [&](std::int64_t done, std::int64_t) { progress_.update(done); });
  progress_.finish();
  return value + add_priors(nullptr);
}

Evaluation Session::gradient(const StateObserver& observer) {
  if (has_drifted_) {
    measure();
    make_plan();
  }
  const std::int64_t plain = std::max<std::int64_t>(0, plan_.schedule.predicted.plain);
  progress_.phase("gradient", plain + 2 * simulation_->plan().steps());
  const auto begin = std::chrono::steady_clock::now();
  GradientResult result =
      simulation_->gradient(plan_.schedule, plan_.kind->is_online, observer,
                            [&](std::int64_t forward, std::int64_t reversed) { progress_.update(forward + reversed); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress_.finish();
  const bool is_off = seconds > plan_.seconds * drift || seconds * drift < plan_.seconds;
  has_drifted_ = comm_.any(options_.costs.empty() && plan_.is_automatic && !plan_.is_open() &&
                           seconds > telling_seconds && is_off);
  Evaluation evaluation{result.objective, std::move(result.gradient), result.counts, seconds};
  evaluation.objective += add_priors(&evaluation.gradient);
  return evaluation;
}

std::pair<double, double> Session::tangent(const UnknownValues& direction) {
  auto [objective, derivative] = simulation_->tangent(direction);
  UnknownValues prior_gradient;
  for (const auto& values : simulation_->values()) prior_gradient.emplace_back(values.size(), 0.0);
  objective += add_priors(&prior_gradient);
  return {objective, derivative + dot(prior_gradient, direction)};
}

double Session::dot(const UnknownValues& a, const UnknownValues& b) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || b[i].empty()) continue;
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return a[i][k] * b[i][k]; });
    } else {
      for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
    }
  }
  return sum;
}

}  // namespace hindsight
