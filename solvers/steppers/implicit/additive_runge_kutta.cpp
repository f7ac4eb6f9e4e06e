#include "solvers/steppers/implicit/additive_runge_kutta.hpp"

#include <utility>

namespace hindsight {
namespace {

enum { value, base, product, count };

Model part_of(Model model, const std::vector<Expr>& right_hand_sides) {
  model.right_hand_sides = right_hand_sides;
  return model;
}

}  // namespace

AdditiveRungeKutta::AdditiveRungeKutta(const Model& model, AdditiveTableau tableau, const Active& active, Wants wants)
    : ImplicitStepper(tableau.implicit_part ? part_of(model, model.implicit_parts) : model, active, std::move(wants),
                      (tableau.implicit_part ? 2 : 1) * tableau.explicit_part.stages() + count,
                      tableau.implicit_part ? Solves::stages : Solves::nothing),
      explicit_(std::move(tableau.explicit_part)),
      implicit_(std::move(tableau.implicit_part)) {
  if (!is_split()) return;
  explicit_model_.emplace(part_of(model, model.explicit_parts));
  own_explicit_.emplace(*explicit_model_, active_, Derivatives{wants_.adjoint, wants_.tangent}, "explicit");
  add_operators(*own_explicit_);
}

void AdditiveRungeKutta::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  ImplicitStepper::prepare(grid, tables, series);
  if (is_split()) own_explicit_->prepare(grid, tables, series, longest_beside_systems);
}

std::string AdditiveRungeKutta::describe_memory() const {
  return is_split() ? "stages: stored in records; Jacobians and factors: not stored, recomputed from stages"
                    : "stages: stored in records; factors of constraints: not stored, recomputed where they change";
}

/// out += h sum_{j<i} (e_ij E_j + a_ij I_j), or of tangents.
void AdditiveRungeKutta::add_slopes(StepTime time, int i, double* out) const {
  for (int j = 0; j < i; ++j) {
    add(out, {{time.h * e(i, j), explicit_slope(j)}});
    if (is_split()) add(out, {{time.h * a(i, j), implicit_slope(j)}});
  }
}

void AdditiveRungeKutta::add_all_slopes(StepTime time, double* out) const {
  for (int i = 0; i < stages(); ++i) {
    add(out, {{time.h * b(i), explicit_slope(i)}});
    if (is_split()) add(out, {{time.h * b(i), implicit_slope(i)}});
  }
}

/// Y_i behind the first.
void AdditiveRungeKutta::solve_stage(Tables& tables, StepTime time, int i, const double* u, double* y) {
  double* const bases = is_split() ? work(base) : y;
  copy(u, bases);
  add_slopes(time, i, bases);
  if (!is_split()) {
    if (constraints_) constraints_->solve(tables, at_stage(time, i), y);
    return;
  }
  const double hg = time.h * a(i, i);
  combine(y, {{1.0, bases}, {hg, implicit_slope(i - 1)}});
  systems_->solve_stage(tables, series(), at_stage(time, i), hg, bases, y, work(product));
  combine(implicit_slope(i), {{1.0 / hg, y}, {-1.0 / hg, bases}});
  clear_constrained(implicit_slope(i));
}

/// The slopes of Y_i that are not found with it.
void AdditiveRungeKutta::evaluate(Tables& tables, StepTime time, int i, double* y) {
  find_slope(explicit_operators(), tables, at_stage(time, i), y, explicit_slope(i));
  clear_constrained(explicit_slope(i));
  if (!is_split() || i > 0) return;
  find_slope(tables, at_stage(time, i), y, implicit_slope(i));
  clear_constrained(implicit_slope(i));
}

void AdditiveRungeKutta::forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  begin_step();
  const int s = this->stages();
  evaluate(tables, time, 0, u);
  for (int i = 1; i < s; ++i) {
    double* const y = stages != nullptr ? stages[i - 1] : work(value);
    solve_stage(tables, time, i, u, y);
    evaluate(tables, time, i, y);
  }
  double* const end = constraints_ && stages != nullptr ? stages[s - 1] : next;
  if (end == nullptr) return;
  copy(u, end);
  add_all_slopes(time, end);
  if (constraints_) constraints_->solve(tables, time.stage(1.0), end);
  if (next != nullptr && next != end) copy(end, next);
}

void AdditiveRungeKutta::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  forward(tables, time, u, next, nullptr);
}

void AdditiveRungeKutta::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  forward(tables, time, u, next, stages);
}

double AdditiveRungeKutta::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  forward(tables, time, u, next, stages);
  double* const error = work(base);
  combine(error, {{0.0, u}});
  const std::vector<double>& weights = explicit_.error;
  for (int i = 0; i < this->stages(); ++i) {
    const double weight = time.h * weights[static_cast<std::size_t>(i)];
    add(error, {{weight, explicit_slope(i)}});
    if (is_split()) add(error, {{weight, implicit_slope(i)}});
  }
  if (std::ssize(weights) > this->stages()) {
    find_slope(explicit_operators(), tables, time.stage(1.0), next, work(product));
    add(error, {{time.h * weights.back(), work(product)}});
  }
  return error_ratio(error, u, next);
}

void AdditiveRungeKutta::factorise(Tables& tables, StepTime time, int i, double* y) {
  systems_->linearise(tables, series(), at_stage(time, i), time.h * a(i, i), y, work(product), false);
}

/// ebar_i and ibar_i; the adjoints beta_j of later stages lie in explicit_slope(j).
void AdditiveRungeKutta::add_weights(StepTime time, int i, const double* lambda, double* of_explicit,
                                     double* of_implicit) const {
  combine(of_explicit, {{time.h * b(i), lambda}});
  if (is_split()) combine(of_implicit, {{time.h * b(i), lambda}});
  for (int j = i + 1; j < stages(); ++j) {
    add(of_explicit, {{time.h * e(j, i), explicit_slope(j)}});
    if (is_split()) add(of_implicit, {{time.h * a(j, i), explicit_slope(j)}});
  }
}

/// Leaves beta_i in explicit_slope(i).
void AdditiveRungeKutta::reverse_stage(Tables& tables, StepTime time, int i, double* y, const double* lambda) {
  double* const beta = explicit_slope(i);
  double* const ebar = work(base);
  double* const ibar = is_split() ? implicit_slope(i) : nullptr;
  add_weights(time, i, lambda, ebar, ibar);
  explicit_operators().adjoint(tables, at_stage(time, i), y, ebar, beta);
  if (!is_split()) {
    if (i > 0 && constraints_) constraints_->adjoint(tables, at_stage(time, i), y, beta);
    return;
  }
  if (i == 0) {
    operators_.adjoint(tables, at_stage(time, i), y, ibar, work(product));
    return add(beta, {{1.0, work(product)}});
  }
  const double hg = time.h * a(i, i);
  factorise(tables, time, i, y);
  double* const w = work(base);
  combine(w, {{1.0, ibar}, {hg, beta}});
  systems_->solve_transposed(w);
  combine(beta, {{1.0 / hg, w}, {-1.0 / hg, ibar}});
  clear_constrained(beta);
  if (has_active()) operators_.adjoint(tables, at_stage(time, i), y, w, work(product));
}

void AdditiveRungeKutta::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages,
                                 StateBlocks lambda, StateBlocks lambda_next) {
  const int s = this->stages();
  double* const of_end = work(value);
  copy(lambda, of_end);
  if (constraints_) constraints_->adjoint(tables, time.stage(1.0), stages[s - 1], of_end);
  copy(of_end, lambda_next);
  for (int i = s - 1; i >= 0; --i) {
    reverse_stage(tables, time, i, i == 0 ? u.now : stages[i - 1], of_end);
    add(lambda_next, {{1.0, explicit_slope(i)}});
  }
}

/// The tangents of the slopes of Y_i that are not found with it.
void AdditiveRungeKutta::tangent_slopes(Tables& tables, StepTime time, int i, double* y, double* dy) {
  explicit_operators().tangent(tables, at_stage(time, i), y, dy, explicit_slope(i));
  clear_constrained(explicit_slope(i));
  if (!is_split() || i > 0) return;
  operators_.tangent(tables, at_stage(time, i), y, dy, implicit_slope(i));
  clear_constrained(implicit_slope(i));
}

void AdditiveRungeKutta::tangent_stage(Tables& tables, StepTime time, int i, double* y, const double* du) {
  double* const dy = work(value);
  double* const dbase = is_split() ? work(base) : dy;
  copy(du, dbase);
  add_slopes(time, i, dbase);
  clear_constrained(dbase);
  if (!is_split()) {
    if (constraints_) constraints_->tangent(tables, at_stage(time, i), y, dy);
  } else {
    const double hg = time.h * a(i, i);
    factorise(tables, time, i, y);
    double* const zero = implicit_slope(i);
    combine(zero, {{0.0, dbase}});
    operators_.tangent(tables, at_stage(time, i), y, zero, dy);
    combine(dy, {{hg, dy}, {1.0, dbase}});
    systems_->solve(dy);
    combine(implicit_slope(i), {{1.0 / hg, dy}, {-1.0 / hg, dbase}});
    clear_constrained(implicit_slope(i));
  }
  tangent_slopes(tables, time, i, y, dy);
}

void AdditiveRungeKutta::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                                 double* dnext) {
  tangent_slopes(tables, time, 0, u, du);
  for (int i = 1; i < this->stages(); ++i) tangent_stage(tables, time, i, stages[i - 1], du);
  copy(du, dnext);
  add_all_slopes(time, dnext);
  if (constraints_) constraints_->tangent(tables, time.stage(1.0), stages[this->stages() - 1], dnext);
}

}  // namespace hindsight
