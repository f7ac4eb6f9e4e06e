#include "adjoint/problem/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "adjoint/problem/unknown_places.hpp"
#include "runtime/error.hpp"
#include "solvers/equations/not_finite.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/grid/place_text.hpp"
#include "solvers/steppers/methods.hpp"

namespace hindsight {

double DivergenceFinder::value(CellArray field, const Index3& cell, const Offset& offset) const {
  Box box;
  for (std::size_t a = 0; a < 3; ++a) {
    box.lo[a] = cell[a] + offset[a];
    box.hi[a] = box.lo[a] + 1;
  }
  double found = 0.0;
  grid_.operations().pack(box.extent(), grid_.block(box, field), &found);
  return found;
}

Bindings DivergenceFinder::bindings(const Stage& stage, const Index3& cell) const {
  Bindings at;
  at.scalar = [this, &stage](int symbol) {
    const std::string& name = graph_.scalars()[static_cast<std::size_t>(symbol)];
    if (name == "t") return stage.t;
    if (name == step_length) return stage.h;
    const std::size_t q = place_of(model_.series, name);
    return q < model_.series.size() ? spec_.series[q].at(stage.t) : tables_.scalar(symbol);
  };
  at.field = [this, &stage, cell](int symbol, Offset offset) {
    const std::size_t f = place_of(model_.fields, graph_.fields()[static_cast<std::size_t>(symbol)]);
    return f < model_.fields.size() ? stage.state(f, cell, offset) : value(tables_.cells(symbol), cell, offset);
  };
  at.coordinate = [this, cell](int axis, int offset) {
    return grid_.coordinates(axis)[cell[static_cast<std::size_t>(axis)] + offset];
  };
  return at;
}

/// What has no value in the expression; empty when it has one.
std::string DivergenceFinder::cause_in(const Expr& e, const std::string& where, const Stage& stage,
                                       const Index3& cell) const {
  const std::optional<NotFinite> found = find_not_finite(e, bindings(stage, cell));
  if (!found) return "";
  const std::string behind = found->at.node().op == Op::field ? cause_behind(found->at.node(), stage, cell) : "";
  if (!behind.empty()) return behind + ", which " + where + " reads";
  return found->text() + " of " + where + (found->is_overflow() ? methods().find(spec_.method).advice : "");
}

/// Why a field that an expression reads is not finite: a parameter's expression, or a wall's; empty where it is
/// neither.
std::string DivergenceFinder::cause_behind(const Node& read, const Stage& stage, const Index3& cell) const {
  const std::string& name = graph_.fields()[read.symbol];
  if (const std::size_t f = place_of(model_.fields, name); f < model_.fields.size())
    return cause_beyond_wall(f, read.offset, stage, cell);
  const std::size_t p = place_of(model_.parameter_fields, name);
  if (p >= spec_.parameter_fields.size() || !spec_.parameter_fields[p].expression.is_valid()) return "";
  Index3 there = cell;
  for (std::size_t a = 0; a < 3; ++a) there[a] += read.offset[a];
  return cause_in(spec_.parameter_fields[p].expression, name + spec_.parameter_fields[p].place, stage, there);
}

std::string DivergenceFinder::cause_beyond_wall(std::size_t field, const Offset& offset, const Stage& stage,
                                                const Index3& cell) const {
  for (std::size_t a = 0; a < grid_.axes().size(); ++a)
    for (std::size_t side = 0; side < 2 && model_.has_walls[a]; ++side) {
      const std::int64_t at = grid_.first()[a] + cell[a] + offset[a];
      if (side == 0 ? at >= 0 : at < grid_.global_cells()[a]) continue;
      Bindings wall = bindings(stage, cell);
      wall.coordinate = [&axis = grid_.axes()[a], a, side, inside = wall.coordinate](int other, int shift) {
        return other == static_cast<int>(a) ? (side == 0 ? axis.from : axis.to) : inside(other, shift);
      };
      if (const auto found = find_not_finite(model_.walls[field][a][side].value, wall))
        return found->text() + " of " + spec_.names.walls[field][a][side];
    }
  return "";
}

/// Where every operation has a value in doubles.
std::string DivergenceFinder::overflow_text() const {
  return graph_.element() == Element::float64 ? "its values overflowed"
                                              : "its values overflowed float32, whose numbers end at 3.4e38";
}

std::string DivergenceFinder::initial(const BadValue& bad) const {
  if (bad.field < 0) return "";
  const auto f = static_cast<std::size_t>(bad.field);
  const Stage start{spec_.from, spec_.step, [](std::size_t, const Index3&, const Offset&) { return 0.0; }};
  const StepFailure failure = stepper_.failure();  // of constraints
  if (failure.is_of_all_cells && failure.is_known()) return "the initial state is not finite: " + failure.why;
  std::string cause =
      failure.is_known() ? failure.why : cause_in(spec_.initial[f], spec_.names.initial[f], start, bad.cell);
  if (cause.empty() && graph_.element() == Element::float32) cause = overflow_text();
  return fmt::format("the initial state is not finite: field '{}'{}{}", model_.fields[f], place_text(grid_, bad.cell),
                     cause.empty() ? "" : ": " + cause);
}

std::vector<double> DivergenceFinder::values_at(double* state, const Index3& cell) const {
  std::vector<double> values;
  for (std::size_t f = 0; f < model_.fields.size(); ++f)
    values.push_back(value(grid_.field_of(state, f, graph_.element()), cell, {}));
  return values;
}

/// Of the equations, where they read these values of the fields; empty where all have values.
std::string DivergenceFinder::cause_at(const std::vector<double>& values, double t, double h,
                                       const Index3& cell) const {
  const Stage stage{t, h, [&](std::size_t f, const Index3&, const Offset&) { return values[f]; }};
  for (std::size_t f = 0; f < values.size(); ++f)
    if (std::string cause = cause_in(model_.right_hand_sides[f], spec_.names.equations[f], stage, cell); !cause.empty())
      return cause;
  return "";
}

/// The evaluations one after another at one cell, whose inputs depend on that cell alone.
std::string DivergenceFinder::cause_at_cell(StepTime time, double* before, const Index3& cell) const {
  const std::vector<double> start = values_at(before, cell);
  std::vector<std::vector<double>> slopes;
  for (const Stepper::Evaluation& evaluation : stepper_.evaluations(time)) {
    const std::vector<double> input = stepper_.input_at_cell(slopes.size(), time, start, slopes);
    if (std::string cause = cause_at(input, evaluation.t, time.h, cell); !cause.empty()) return cause;
    const Stage stage{evaluation.t, time.h, [&](std::size_t f, const Index3&, const Offset&) { return input[f]; }};
    slopes.push_back(interpret(model_.right_hand_sides, bindings(stage, cell)));
  }
  return "";
}

/// The operation of an event that has no value; jumps of one time follow each other.
std::string DivergenceFinder::cause_in_jump(StepTime time, double* before, const BadValue& bad) const {
  std::vector<double> values = values_at(before, bad.cell);
  for (const Jump& jump : spec_.jumps) {
    if (std::ranges::none_of(jump.times, [&](double t) { return std::fabs(t - time.t) <= 1e-9 * time.h; })) continue;
    const std::vector<double> from = values;
    const Stage stage{time.t, time.h, [&](std::size_t f, const Index3&, const Offset&) { return from[f]; }};
    for (const Jump::Assignment& assignment : jump.set) {
      const std::string where = "the event" + (jump.place.text().empty() ? "" : " (" + jump.place.text() + ")");
      if (std::string cause = cause_in(assignment.value, where, stage, bad.cell); !cause.empty()) return cause;
      values[assignment.field] = interpret({assignment.value}, bindings(stage, bad.cell)).front();
    }
  }
  return "";
}

/// What the method says, with the operation that has no value where that is why.
std::string DivergenceFinder::cause_of_failure(const StepFailure& failure, StepTime time, double* before,
                                               const Index3& cell) const {
  const std::string operation = failure.is_of_jump && failure.bad.field >= 0 ? cause_in_jump(time, before, failure.bad)
                                : failure.at.empty()                         ? ""
                                                     : cause_at(failure.at, failure.t, time.h, cell);
  return failure.why + (failure.why.empty() || operation.empty() ? "" : ": ") + operation;
}

/// Of the slopes that the bad value followed from, which were evaluated on inputs that are finite.
std::string DivergenceFinder::cause_in_evaluations(StepTime time, std::size_t count, const BadValue& bad) const {
  const std::vector<Stepper::Evaluation> all = stepper_.evaluations(time);
  for (std::size_t i = 0; i < count; ++i) {
    const StateValues state = [&](std::size_t f, const Index3& cell, const Offset& offset) {
      return value(tables_.cells(all[i].input[f]), cell, offset);
    };
    const Stage stage{all[i].t, time.h, state};
    const auto f = static_cast<std::size_t>(bad.field);
    if (std::string cause = cause_in(model_.right_hand_sides[f], spec_.names.equations[f], stage, bad.cell);
        !cause.empty())
      return cause;
  }
  return "";
}

std::optional<DivergenceFinder::Trouble> DivergenceFinder::trouble(StepTime time, double* before,
                                                                   const BadValue& bad) const {
  const auto in_field = [&](int field, const Index3& cell, std::string why) {
    return Trouble{"field '" + model_.fields[static_cast<std::size_t>(field)] + "'", place_text(grid_, cell), why};
  };
  const StepFailure failure = stepper_.failure();
  if (grid_.communicator().any(failure.is_of_jump)) {  // what follows from it says nothing
    if (!failure.is_of_jump) return std::nullopt;
    if (failure.bad.field < 0) return Trouble{"the state", "", failure.why};
    return in_field(failure.bad.field, failure.bad.cell, cause_of_failure(failure, time, before, failure.bad.cell));
  }
  const std::vector<Stepper::Evaluation> all = stepper_.evaluations(time);
  const bool keeps_inputs = !all.empty() && !all.front().input.empty();
  BadValue first = bad;
  std::size_t count = all.size();
  for (std::size_t i = 1; i < count && keeps_inputs; ++i) {
    std::vector<CellArray> cells;
    for (const int symbol : all[i].input) cells.push_back(tables_.cells(symbol));
    const BadValue of_input = find_bad_value(grid_, cells);
    if (!grid_.communicator().any(of_input.field >= 0)) continue;
    first = of_input;
    count = i;
  }
  if (first.field < 0) return std::nullopt;
  if (failure.is_of_all_cells && failure.is_known()) return Trouble{"the state", "", failure.why};
  if (failure.bad.field >= 0) first = failure.bad;
  const std::string cause = failure.is_known() ? cause_of_failure(failure, time, before, first.cell)
                            : keeps_inputs     ? cause_in_evaluations(time, count, first)
                                               : cause_at_cell(time, before, first.cell);
  return in_field(first.field, first.cell,
                  cause.empty() ? overflow_text() + methods().find(spec_.method).advice : cause);
}

std::string DivergenceFinder::step(StepTime time, double* before, double end, const BadValue& bad) const {
  const std::optional<Trouble> found = trouble(time, before, bad);
  if (!found) return "";
  return fmt::format("diverged: {} is not finite after step {} (t = {:.6g}){}: {}", found->what, time.index + 1, end,
                     found->place, found->why);
}

std::string DivergenceFinder::tried(StepTime time, double* before, double* next) const {
  std::vector<CellArray> cells;
  for (std::size_t f = 0; f < model_.fields.size(); ++f) cells.push_back(grid_.field_of(next, f, graph_.element()));
  if (const auto found = trouble(time, before, find_bad_value(grid_, cells)))
    return found->what + " is not finite" + found->place + ": " + found->why;
  const Stepper::WorstError worst = stepper_.worst_error(tables_);
  if (std::isfinite(worst.ratio)) return "";
  const Stage end{time.at(1.0), time.h, [&](std::size_t f, const Index3& cell, const Offset& offset) {
                    return value(cells[f], cell, offset);
                  }};
  for (std::size_t f = 0; f < cells.size(); ++f)
    if (std::string cause = cause_in(model_.right_hand_sides[f], spec_.names.equations[f], end, worst.cell);
        !cause.empty())
      return "dt(" + model_.fields[f] + ") is not finite at the end of the step" + place_text(grid_, worst.cell) +
             ": " + cause;
  return "";
}

DivergenceFinder DivergenceWatch::finder() const {
  return {problem_.spec(), problem_.stepper(), problem_.grid(), problem_.tables()};
}

void DivergenceWatch::require_finite(std::int64_t k, const Buffer& state) {
  const Communicator& comm = problem_.communicator();
  const BadValue bad = find_bad_value(problem_.grid(), states_.fields_of(state.data()));
  if (comm.any(bad.field >= 0)) {
    if (k > 0) report(k);
    comm.agree(finder().initial(bad), static_cast<int>(ExitCode::numerics));
  }
  go_on(k, state);
}

void DivergenceWatch::report(std::int64_t k) {
  const TimeLine& time = problem_.time();
  Stepper& stepper = problem_.stepper();
  std::string found;
  stepper.watch_slopes(true);
  Buffer before = good_;
  for (std::int64_t step = good_step_; before && step < k; ++step) {
    Buffer next = states_.acquire_after(before);
    stepper.step(problem_.tables(), time.step(step), before.blocks(), next.data());
    const BadValue bad = find_bad_value(problem_.grid(), states_.fields_of(next.data()));
    if (problem_.communicator().any(bad.field >= 0)) {
      found = finder().step(time.step(step), before.data(), time.time(step + 1), bad);
      break;
    }
    before = next;
  }
  stepper.watch_slopes(false);  // an inversion goes on after a trial that fails
  problem_.communicator().agree(found, static_cast<int>(ExitCode::numerics));
  throw NumericsError("diverged: the state is not finite at step " + std::to_string(k));
}

}  // namespace hindsight
