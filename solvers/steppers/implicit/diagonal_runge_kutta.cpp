#include "solvers/steppers/implicit/diagonal_runge_kutta.hpp"

#include <algorithm>
#include <utility>

#include "solvers/equations/parser.hpp"

namespace hindsight {
namespace {

// Blocks behind one per stage (slopes, their tangents, or beta).
enum { base, value, free_block, count };

/// Whether equations, or rules of walls, read what changes from step to step beside the state and the time: its length,
/// or noise.
bool depends_on_step(const Model& model) {
  const Graph& graph = *model.graph;
  std::vector<Expr> read = model.right_hand_sides;
  for (const auto& of_field : model.walls)
    for (const auto& axis : of_field)
      for (const ModelWall& wall : axis)
        if (wall.value.is_valid()) read.push_back(wall.value);
  for (const NodeId id : reachable(read)) {
    const Node& node = graph[id];
    if (node.op == Op::scalar && graph.scalars()[node.symbol] == step_length) return true;
    const auto is_read = [&](const Noise& noise) { return node.op == Op::field && noise.symbol == int{node.symbol}; };
    if (std::ranges::any_of(graph.noises(), is_read)) return true;
  }
  return false;
}

}  // namespace

DiagonalRungeKutta::DiagonalRungeKutta(const Model& model, Tableau tableau, const Active& active, Wants wants)
    : ImplicitStepper(model, active, std::move(wants), tableau.stages() + count, Solves::stages),
      tableau_(std::move(tableau)),
      keeps_slope_(first_implicit() == 1 && !depends_on_step(model)) {}

StateShape DiagonalRungeKutta::state(const Grid& grid) const {
  return shape_of_fields(grid, keeps_slope_ ? 2 * model_.fields.size() + 1 : model_.fields.size());
}

void DiagonalRungeKutta::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  ImplicitStepper::prepare(grid, tables, series);
  fields_doubles_ = state_doubles(grid, model_.fields.size());
}

void DiagonalRungeKutta::begin(Tables& tables, StepTime at, double* state) {
  ImplicitStepper::begin(tables, at, state);
  forget(state);
}

/// Its own arrays do not depend on the fields, so that begin_adjoint() has nothing to add.
void DiagonalRungeKutta::begin_tangent(Tables& tables, StepTime at, double* state, double* direction) {
  ImplicitStepper::begin_tangent(tables, at, state, direction);
  forget(direction);
}

/// There is no slope of a step before.
void DiagonalRungeKutta::forget(double* state) const {
  if (!keeps_slope_) return;
  combine(slope_of(state), {{0.0, state}});
  set_length(state, 0.0);
}

bool DiagonalRungeKutta::has_slope(const double* state, double h) const {
  constexpr double much_longer = 16.0;
  if (!keeps_slope_) return false;
  return h <= much_longer * state[2 * fields_doubles_ + places().front()];
}

void DiagonalRungeKutta::set_length(double* state, double h) const {
  for (const std::int64_t place : places()) state[2 * fields_doubles_ + place] = h;
}

StepTime DiagonalRungeKutta::at_stage(StepTime time, int i) const {
  return time.stage(tableau_.c[static_cast<std::size_t>(i)]);
}

std::string DiagonalRungeKutta::describe_memory() const {
  return "stages: stored in records; Jacobians and factors: not stored, recomputed from stages";
}

void DiagonalRungeKutta::add_up_base(StepTime time, int i, const double* u, double* out) const {
  copy(u, out);
  for (int j = 0; j < i; ++j) add(out, {{time.h * a(i, j), scratch(j)}});
}

void DiagonalRungeKutta::forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  begin_step();
  const int s = this->stages(), first = first_implicit();
  double* const bases = scratch(s + base);
  if (first == 1 && has_slope(u, time.h)) copy(slope_of(u), scratch(0));
  if (first == 1 && !has_slope(u, time.h)) {
    find_slope(tables, at_stage(time, 0), u, scratch(0));
    clear_constrained(scratch(0));
  }
  for (int i = first; i < s; ++i) {
    const double hg = time.h * a(i, i);
    double* y = stages != nullptr ? stages[i - first] : i + 1 == s ? next : scratch(s + value);
    add_up_base(time, i, u, bases);
    if (i == 0)
      copy(u, y);
    else
      combine(y, {{1.0, bases}, {hg, scratch(i - 1)}});
    systems_->solve_stage(tables, series(), at_stage(time, i), hg, bases, y, scratch(s + free_block));
    combine(scratch(i), {{1.0 / hg, y}, {-1.0 / hg, bases}});
    clear_constrained(scratch(i));
    if (i + 1 == s && next != nullptr && y != next) copy(y, next);
  }
  if (!keeps_slope_ || next == nullptr) return;
  copy(scratch(s - 1), slope_of(next));
  set_length(next, time.ends_on_switch() ? 0.0 : time.h);
}

void DiagonalRungeKutta::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  forward(tables, time, u, next, nullptr);
}

void DiagonalRungeKutta::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  forward(tables, time, u, next, stages);
}

double DiagonalRungeKutta::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  forward(tables, time, u, next, stages);
  double* const error = scratch(this->stages() + base);
  combine(error, {{time.h * tableau_.error[0], scratch(0)}});
  for (int i = 1; i < this->stages(); ++i)
    add(error, {{time.h * tableau_.error[static_cast<std::size_t>(i)], scratch(i)}});
  return error_ratio(error, u, next);
}

void DiagonalRungeKutta::factorise(Tables& tables, StepTime time, int i, double* y) {
  systems_->linearise(tables, series(), at_stage(time, i), time.h * a(i, i), y, scratch(stages() + free_block), false);
}

void DiagonalRungeKutta::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages,
                                 StateBlocks lambda, StateBlocks lambda_next) {
  const int s = this->stages(), first = first_implicit();
  double* const w = scratch(s + base);
  for (int i = s - 1; i >= 0; --i) {
    double* const beta = scratch(i);
    double* const y = i < first ? u.now : stages[i - first];
    if (i >= first) factorise(tables, time, i, y);
    if (i + 1 == s) {
      const double hg = time.h * a(i, i);
      copy(lambda, beta);
      if (keeps_slope_) add(beta, {{1.0 / hg, slope_of(lambda)}});
      systems_->solve_transposed(beta);
      combine(w, {{hg, beta}});
      if (has_active()) operators_.adjoint(tables, at_stage(time, i), y, w, scratch(s + value));
      if (keeps_slope_) add(beta, {{-1.0 / hg, slope_of(lambda)}});
      clear_constrained(beta);
      copy(beta, lambda_next);
      continue;
    }
    combine(w, {{time.h * a(i + 1, i), scratch(i + 1)}});
    for (int j = i + 2; j < s; ++j) add(w, {{time.h * a(j, i), scratch(j)}});
    if (i < first) {
      reverse_slope(tables, time, u, w, lambda_next);
      break;
    }
    const double g = 1.0 / (time.h * a(i, i));
    combine(beta, {{-g, w}});
    systems_->solve_transposed(w);
    add(beta, {{g, w}});
    clear_constrained(beta);
    if (has_active()) operators_.adjoint(tables, at_stage(time, i), y, w, scratch(s + value));
    add(lambda_next, {{1.0, beta}});
  }
}

/// Of the explicit first stage. @param w the adjoint of its slope.
void DiagonalRungeKutta::reverse_slope(Tables& tables, StepTime time, double* u, double* w, double* lambda_next) {
  const bool is_kept = has_slope(u, time.h);
  if (keeps_slope_) {
    set_length(lambda_next, 0.0);
    combine(slope_of(lambda_next), {{is_kept ? 1.0 : 0.0, w}});
  }
  if (is_kept) return;
  double* const beta = scratch(0);
  operators_.adjoint(tables, at_stage(time, 0), u, w, beta);
  add(lambda_next, {{1.0, beta}});
}

void DiagonalRungeKutta::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                                 double* dnext) {
  const int s = this->stages(), first = first_implicit();
  if (first == 1 && has_slope(u, time.h)) copy(slope_of(du), scratch(0));
  if (first == 1 && !has_slope(u, time.h)) {
    operators_.tangent(tables, at_stage(time, 0), u, du, scratch(0));
    clear_constrained(scratch(0));
  }
  double* const dbase = scratch(s + base);
  for (int i = first; i < s; ++i) {
    double* const y = stages[i - first];
    add_up_base(time, i, du, dbase);
    clear_constrained(dbase);
    factorise(tables, time, i, y);
    const double hg = time.h * a(i, i);
    double* const zero = scratch(s + free_block);
    double* const dy = i + 1 < s ? scratch(s + value) : dnext;
    combine(zero, {{0.0, dbase}});
    operators_.tangent(tables, at_stage(time, i), y, zero, dy);
    combine(dy, {{hg, dy}, {1.0, dbase}});
    systems_->solve(dy);
    if (i + 1 == s && !keeps_slope_) continue;
    combine(scratch(i), {{1.0 / hg, dy}, {-1.0 / hg, dbase}});
    clear_constrained(scratch(i));
  }
  if (!keeps_slope_) return;
  copy(scratch(s - 1), slope_of(dnext));
  set_length(dnext, 0.0);
}

}  // namespace hindsight
