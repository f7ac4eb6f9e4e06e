#include "src/program/session.hpp"

#include "src/error.hpp"
#include "src/ordered_sum.hpp"
#include "src/program/assemble.hpp"

namespace hindsight {
namespace {

HostBudget host_budget(const Case& c, const Communicator& comm) {
  const auto& host = c.checkpoints.host;
  if (!host) return {default_host_budget(comm), {}};
  if (host->unit == CaseBudget::Unit::slots) return {{}, host->amount};
  return {host->amount, {}};
}

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

Session::Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet)
    : case_(std::move(c)), comm_(comm), progress_(!quiet, comm.rank()) {
  for (const auto& [budget, name] : {std::pair{&case_.checkpoints.device, "device"}, {&case_.checkpoints.disk, "disk"}})
    if (*budget && adjoint)
      throw InputError((*budget)->place, std::string("checkpoints.") + name +
                                             ": this version keeps checkpoints in host memory only; remove the key");
  simulation_ = std::make_unique<Simulation>(assemble(case_), comm, Simulation::Wants{adjoint, tangent});
  if (!adjoint) return;
  try {
    plan_ = choose_schedule(case_.checkpoints.schedule, simulation_->plan().steps(), host_budget(case_, comm),
                            {simulation_->state_bytes(), simulation_->record_bytes(), simulation_->working_bytes()});
  } catch (const InputError& error) {
    const SourcePlace place = case_.checkpoints.host ? case_.checkpoints.host->place : case_.checkpoints.place;
    throw InputError(place, error.what());
  }
  simulation_->reserve_checkpoints(plan_.request);
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
  const std::int64_t total = plan_.plain + 2 * simulation_->plan().steps();
  progress_.phase("gradient", total);
  GradientResult result =
      simulation_->gradient(*plan_.kind, plan_.request, observer,
                            [&](std::int64_t forward, std::int64_t reversed) { progress_.update(forward + reversed); });
  progress_.finish();
  Evaluation evaluation{result.objective, std::move(result.gradient), result.counts};
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
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return a[i][k] * b[i][k]; });
    } else {
      for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
    }
  }
  return sum;
}

}  // namespace hindsight
