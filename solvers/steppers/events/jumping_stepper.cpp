#include "solvers/steppers/events/jumping_stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "runtime/error.hpp"

namespace hindsight {

void JumpingStepper::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  grid_ = &grid;
  method_->prepare(grid, tables, series);
  jumps_.prepare(grid, tables, series);
  doubles_ = method_->state(grid).padded_doubles;
  grid.communicator().together([&] {
    after_ = Memory(doubles_, grid.machine());
    other_ = Memory(doubles_, grid.machine());
  });
}

void JumpingStepper::bind_series_sums(std::size_t active_series, double* knots) {
  method_->bind_series_sums(active_series, knots);
  jumps_.series().bind_sums(active_series, knots);
}

void JumpingStepper::set_series(std::size_t series, const std::vector<double>& values) {
  method_->set_series(series, values);
  jumps_.series().set_values(series, values);
}

void JumpingStepper::set_series_directions(std::vector<Series> directions) {
  jumps_.series().set_directions(directions);
  method_->set_series_directions(std::move(directions));
}

double* JumpingStepper::after(Tables& tables, StepTime time, double* u) {
  jumps_.apply(tables, time, u, after_.data());
  look_at_jump(time);
  method_->begin(tables, time.stage(0.0), after_.data());
  if (StepFailure failure = method_->failure(); !bad_jump_.is_known() && failure.is_known()) {
    bad_jump_ = std::move(failure);
    bad_jump_.why = fmt::format("after the event at t = {:.10g}: {}", time.t,
                                bad_jump_.why.empty() ? "the equations have no value there" : bad_jump_.why);
    bad_jump_.is_of_jump = true;
  }
  return after_.data();
}

double* JumpingStepper::tangent_after(Tables& tables, StepTime time, double* u, double* du) {
  jumps_.tangent(tables, time, u, du, other_.data());
  method_->begin_tangent(tables, time.stage(0.0), after_.data(), other_.data());
  return other_.data();
}

double* JumpingStepper::start(Tables& tables, StepTime time, double* u) {
  bad_jump_ = {};
  return jumps_.at(time.index) ? after(tables, time, u) : u;
}

void JumpingStepper::look_at_jump(StepTime time) {
  std::vector<CellArray> fields;
  for (std::size_t f = 0; f < model_.fields.size(); ++f)
    fields.push_back(grid_->field_of(after_.data(), f, model_.graph->element()));
  const BadValue bad = find_bad_value(*grid_, fields);
  if (bad.field < 0) return;
  bad_jump_.why = fmt::format("the event at t = {:.10g} gives '{}' a value that is not finite", time.t,
                              model_.fields[static_cast<std::size_t>(bad.field)]);
  bad_jump_.is_of_jump = true;
  bad_jump_.bad = bad;
}

void JumpingStepper::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  method_->step(tables, time, start(tables, time, u), next);
}

std::int64_t JumpingStepper::steps_through(StepTime first, std::int64_t most) const {
  std::int64_t steps = 0;
  while (steps < most && !jumps_at(first.index + steps)) ++steps;
  return steps > 1 ? method_->steps_through(first, steps) : 1;
}

void JumpingStepper::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  method_->record(tables, time, start(tables, time, u), next, stages);
}

double JumpingStepper::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  double* const from = start(tables, time, u);
  if (from != u && grid_->communicator().any(bad_jump_.is_known())) return std::numeric_limits<double>::quiet_NaN();
  return method_->try_step(tables, time, from, next, stages);
}

void JumpingStepper::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
                             StateBlocks lambda_next) {
  if (!jumps_.at(time.index)) return method_->reverse(tables, time, u, stages, lambda, lambda_next);
  double* const from = start(tables, time, u);
  if (stages != nullptr || !method_->reverses_from_state())
    method_->record(tables, time, from, nullptr, stages);  // the ghosts of v that were recorded
  method_->reverse(tables, time, after_.data(), stages, lambda, other_.data());
  if (add_adjoint_) add_adjoint_(time, after_.data(), other_.data());
  method_->begin_adjoint(tables, time.stage(0.0), after_.data(), other_.data());
  grid_->machine().clear(lambda_next, doubles_);
  jumps_.adjoint(tables, time, u, other_.data(), lambda_next);
}

void JumpingStepper::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                             double* dnext) {
  if (!jumps_.at(time.index)) return method_->tangent(tables, time, u, stages, du, dnext);
  method_->record(tables, time, start(tables, time, u), nullptr, stages);
  tangent_after(tables, time, u, du);
  method_->tangent(tables, time, after_.data(), stages, other_.data(), dnext);
}

std::vector<Stepper::Described> JumpingStepper::describe() const {
  std::vector<Described> all = method_->describe();
  for (const Described& kernel : jumps_.kernels().describe()) all.push_back({"event, " + kernel.role, kernel.kernel});
  return all;
}

std::vector<const KernelLibrary*> JumpingStepper::libraries() const {
  std::vector<const KernelLibrary*> all = method_->libraries();
  std::ranges::copy(jumps_.kernels().libraries(), std::back_inserter(all));
  return all;
}

}  // namespace hindsight
