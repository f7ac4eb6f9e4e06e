#include "solvers/steppers/implicit/bdf2.hpp"

#include <cmath>
#include <utility>

namespace hindsight {
namespace {

enum { base, slope, product, count };

}  // namespace

Bdf2::Bdf2(const Model& model, const Active& active, Wants wants)
    : ImplicitStepper(model, active, std::move(wants), count, Solves::stages) {}

void Bdf2::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  ImplicitStepper::prepare(grid, tables, series);
  fields_doubles_ = grid.layout().field_stride * static_cast<std::int64_t>(model_.fields.size());
}

void Bdf2::set_length(double* state, double length) const {
  for (const std::int64_t place : places()) state[length_at(place)] = length;
}

void Bdf2::begin(Tables& tables, StepTime at, double* state) {
  ImplicitStepper::begin(tables, at, state);
  forget(state);
}

/// Its own arrays do not depend on the fields, so that begin_adjoint() has nothing to add.
void Bdf2::begin_tangent(Tables& tables, StepTime at, double* state, double* direction) {
  ImplicitStepper::begin_tangent(tables, at, state, direction);
  forget(direction);
}

/// There is no step before.
void Bdf2::forget(double* state) const {
  combine(fields_before(state), {{0.0, state}});
  set_length(state, 0.0);
}

Bdf2::Formula Bdf2::formula(StepTime time, const double* u) const {
  const double most = 1.0 + std::sqrt(2.0);
  const double before = u[length_at(places().front())];
  if (before == 0.0 || time.h > most * before) return {1.0, 0.0, time.h, 0.0};
  const double r = time.h / before, all = 1.0 + 2.0 * r;
  return {(1.0 + r) * (1.0 + r) / all, r * r / all, time.h * (1.0 + r) / all, r};
}

std::string Bdf2::describe_memory() const {
  return "stages: the new state, stored in records; Jacobian and factors: not stored, recomputed";
}

/// @param y gets the new fields.
void Bdf2::solve(Tables& tables, StepTime time, const double* u, double* y) {
  const Formula f = formula(time, u);
  begin_step();
  combine(scratch(base), {{f.now, u}, {-f.before, fields_before(u)}});
  combine(y, {{1.0 + f.ratio, u}, {-f.ratio, fields_before(u)}});
  systems_->solve_stage(tables, series(), time.stage(1.0), f.slope, scratch(base), y, scratch(slope));
}

/// Gives a state whose fields are new its other arrays.
void Bdf2::complete(StepTime time, const double* u, double* next) const {
  copy(u, fields_before(next));
  set_length(next, time.ends_on_switch() ? 0.0 : time.h);
}

void Bdf2::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  solve(tables, time, u, next);
  complete(time, u, next);
}

void Bdf2::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  solve(tables, time, u, stages[0]);
  if (next == nullptr) return;
  copy(stages[0], next);
  complete(time, u, next);
}

double Bdf2::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  step(tables, time, u, next);
  if (stages != nullptr) copy(next, stages[0]);
  const double r = formula(time, u).ratio;
  double* const error = scratch(base);
  if (r > 0.0) {
    const double share = r / (1.0 + r);
    combine(error, {{share, next}, {-share * (1.0 + r), u}, {share * r, fields_before(u)}});
  } else {
    find_slope(tables, time.stage(0.0), u, scratch(slope));
    combine(error, {{0.5, next}, {-0.5, u}, {-0.5 * time.h, scratch(slope)}});
  }
  return error_ratio(error, u, next);
}

void Bdf2::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
                   StateBlocks lambda_next) {
  const Formula f = formula(time, u);
  const StepTime end = time.stage(1.0);
  systems_->linearise(tables, series(), end, f.slope, stages[0], scratch(slope), false);
  double* const z = scratch(base);
  copy(lambda, z);
  systems_->solve_transposed(z);
  combine(scratch(slope), {{f.slope, z}});
  if (has_active()) operators_.adjoint(tables, end, stages[0], scratch(slope), scratch(product));
  clear_constrained(z);
  combine(lambda_next, {{f.now, z}, {1.0, fields_before(lambda)}});
  combine(fields_before(lambda_next), {{-f.before, z}});
  set_length(lambda_next, 0.0);
}

void Bdf2::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du, double* dnext) {
  const Formula f = formula(time, u);
  const StepTime end = time.stage(1.0);
  systems_->linearise(tables, series(), end, f.slope, stages[0], scratch(slope), false);
  double* const zero = scratch(base);
  combine(zero, {{0.0, du}});
  operators_.tangent(tables, end, stages[0], zero, scratch(product));
  combine(dnext, {{f.now, du}, {-f.before, fields_before(du)}});
  clear_constrained(dnext);
  add(dnext, {{f.slope, scratch(product)}});
  systems_->solve(dnext);
  copy(du, fields_before(dnext));
  set_length(dnext, 0.0);
}

}  // namespace hindsight
