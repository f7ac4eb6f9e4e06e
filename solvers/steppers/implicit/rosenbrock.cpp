#include "solvers/steppers/implicit/rosenbrock.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hindsight {
namespace {

// Blocks behind two per stage (U_i or its tangent, and z_i; ybar_i).
enum { input, change_in_time, free_block, count };

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Rosenbrock::Rosenbrock(const Model& model, RosenbrockTableau tableau, const Active& active, Wants wants)
    : ImplicitStepper(model, active, wants, 2 * tableau.stages() + count, Solves::linear_systems),
      tableau_(std::move(tableau)),
      product_(model_, active_, {wants.adjoint, wants.tangent}) {
  add_kernels(product_.kernels());
}

void Rosenbrock::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  ImplicitStepper::prepare(grid, tables, series);
  product_.prepare(grid, tables, this->series());
  for (int i = 0; i < stages(); ++i) own_stages_.push_back(scratch(i));
}

void Rosenbrock::parameters_changed(Tables& tables, bool tangent) {
  ImplicitStepper::parameters_changed(tables, tangent);
  factored_ = {};
}

std::string Rosenbrock::describe_memory() const {
  return "stages: stored in records; Jacobian and factors: recomputed once per step, unless it was the last one "
         "recorded";
}

StepTime Rosenbrock::at_stage(StepTime time, int i) const {
  return time.stage(tableau_.alpha[at(i)]);
}

/// Y_i, or its tangent.
void Rosenbrock::add_up_input(int i, const double* u, double* const* stages, double* out) const {
  copy(u, out);
  for (int j = 0; j < i; ++j) add(out, {{tableau_.a[at(i)][at(j)], stages[j]}});
}

/// @param record where the step is recorded; null: nowhere. Leaves F(u) in the free block if that is needed, else
/// values of no meaning.
void Rosenbrock::factorise(Tables& tables, StepTime time, double* u, double* const* record, bool needs_slope) {
  factored_ = record != nullptr ? Factored{record[0], time.t, time.h} : Factored{};
  systems_->linearise(tables, series(), at_stage(time, 0), time.h * tableau_.gamma, u,
                      scratch(2 * stages() + free_block), needs_slope);
}

/// A no-op where the step was the last one to be recorded. Leaves the free block with values of no meaning.
void Rosenbrock::factorise_recorded(Tables& tables, StepTime time, double* u, double* const* record) {
  const Factored wanted{record[0], time.t, time.h};
  if (factored_ == wanted) return;
  if (!keeps_factors_) return factorise(tables, time, u, record, false);
  systems_->load_factors(record + stages());
  factored_ = wanted;
}

void Rosenbrock::forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  const int s = this->stages();
  double* const y = scratch(2 * s + input);
  double* const in_time = scratch(2 * s + change_in_time);
  double* const slope = scratch(2 * s + free_block);
  begin_step();
  factorise(tables, time, u, stages == own_stages() ? nullptr : stages, true);
  if (watches_slopes()) look_at_slope(at_stage(time, 0), u, slope);
  if (product_.depends_on_time()) {
    combine(y, {{0.0, u}});
    product_.value(tables, series(), {at_stage(time, 0), u, y, 1.0}, in_time);
  }
  const double hg = time.h * tableau_.gamma;
  for (int i = 0; i < s; ++i) {
    if (i > 0) {
      add_up_input(i, u, stages, y);
      find_slope(tables, at_stage(time, i), y, slope);
    }
    double* const stage = stages[i];
    combine(stage, {{0.0, u}});
    for (int j = 0; j < i; ++j) add(stage, {{tableau_.gamma * tableau_.c[at(i)][at(j)], stages[j]}});
    clear_constrained(stage);
    add(stage, {{hg, slope}});
    if (product_.depends_on_time()) add(stage, {{hg * tableau_.gammas[at(i)] * time.h, in_time}});
    systems_->solve(stage);
  }
  if (keeps_factors_ && stages != own_stages()) systems_->save_factors(stages + s);
  if (next == nullptr) return;
  copy(u, next);
  for (int i = 0; i < s; ++i) add(next, {{tableau_.m[at(i)], stages[i]}});
}

void Rosenbrock::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  forward(tables, time, u, next, own_stages());
}

void Rosenbrock::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  forward(tables, time, u, next, stages);
}

double Rosenbrock::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  if (stages == nullptr) stages = own_stages();
  forward(tables, time, u, next, stages);
  double* const error = scratch(2 * this->stages() + input);
  find_error(tables, time, u, next, stages, error);
  return error_ratio(error, u, next);
}

void Rosenbrock::find_error(Tables& tables, StepTime time, double* u, double* next, double* const* stages,
                            double* error) {
  if (!tableau_.error.empty()) {
    combine(error, {{tableau_.error[0], stages[0]}});
    for (int i = 1; i < this->stages(); ++i) add(error, {{tableau_.error[at(i)], stages[i]}});
    return;
  }
  // What the trapezoidal rule makes of both ends, with the stiff part of the difference damped.
  double* const slope = scratch(2 * this->stages() + free_block);
  combine(error, {{1.0, next}, {-1.0, u}});
  for (const auto& [part, state] : {std::pair(0.0, u), {1.0, next}}) {
    find_slope(tables, time.stage(part), state, slope);
    add(error, {{-0.5 * time.h, slope}});
  }
  systems_->solve(error);
}

void Rosenbrock::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
                         StateBlocks lambda_next) {
  const int s = this->stages();
  const double hg = time.h * tableau_.gamma;
  double* const y = scratch(2 * s + input);
  double* const w = scratch(2 * s + change_in_time);
  double* const product = scratch(2 * s + free_block);
  factorise_recorded(tables, time, u, stages);
  copy(lambda, lambda_next);
  for (int i = s - 1; i >= 0; --i) {
    double* const z = scratch(i);
    double* const ybar = scratch(s + i);
    combine(z, {{0.0, lambda}});
    for (int j = i + 1; j < s; ++j) add(z, {{tableau_.gamma * tableau_.c[at(j)][at(i)], scratch(j)}});
    clear_constrained(z);
    add(z, {{tableau_.m[at(i)], lambda}});
    for (int j = i + 1; j < s; ++j) add(z, {{tableau_.a[at(j)][at(i)], scratch(s + j)}});
    systems_->solve_transposed(z);
    combine(w, {{hg, z}});
    add_up_input(i, u, stages, y);
    operators_.adjoint(tables, at_stage(time, i), y, w, ybar);
    product_.adjoint(tables, series(), {at_stage(time, 0), u, stages[i], tableau_.gammas[at(i)] * time.h}, w, product);
    add(lambda_next, {{1.0, ybar}, {1.0, product}});
  }
}

void Rosenbrock::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                         double* dnext) {
  const int s = this->stages();
  const double hg = time.h * tableau_.gamma;
  double* const y = scratch(2 * s + input);
  double* const dy = scratch(2 * s + change_in_time);
  double* const change = scratch(2 * s + free_block);
  factorise_recorded(tables, time, u, stages);
  copy(du, dnext);
  for (int i = 0; i < s; ++i) {
    add_up_input(i, u, stages, y);
    add_up_input(i, du, own_stages(), dy);
    double* const dstage = scratch(i);
    operators_.tangent(tables, at_stage(time, i), y, dy, dstage);
    product_.tangent(tables, series(), {at_stage(time, 0), u, stages[i], tableau_.gammas[at(i)] * time.h}, du, change);
    combine(change, {{hg, change}, {hg, dstage}});
    combine(dstage, {{0.0, du}});
    for (int j = 0; j < i; ++j) add(dstage, {{tableau_.gamma * tableau_.c[at(i)][at(j)], scratch(j)}});
    clear_constrained(dstage);
    add(dstage, {{1.0, change}});
    systems_->solve(dstage);
    add(dnext, {{tableau_.m[at(i)], dstage}});
  }
}

}  // namespace hindsight
