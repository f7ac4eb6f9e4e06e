// Why a state is not finite: the field, the cell, and the operation of the case that has no value there.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/problem/states.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/grid/bad_value.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Evaluates the case's expressions again, at one cell, by the interpreter.
class DivergenceFinder {
 public:
  DivergenceFinder(const SimulationSpec& spec, const Stepper& stepper, const Grid& grid, Tables& tables)
      : spec_(spec), model_(spec.model), graph_(*spec.model.graph), stepper_(stepper), grid_(grid), tables_(tables) {}

  /// Of the initial state, in a sentence; empty on ranks where it is finite.
  std::string initial(const BadValue& bad) const;
  /// Of a step that has just been taken from a finite state to one that is not: its stages are still bound in the
  /// tables. @param before the state that it was taken from. @param end time after it. Empty on ranks where the new
  /// state is finite; at least one has a sentence. Collective.
  std::string step(StepTime time, double* before, double end, const BadValue& bad) const;
  /// The same of a step that was tried and has no finite error: what is not finite, where and why. @param next the
  /// state after it, as far as there is one. Empty on ranks that do not know. Collective.
  std::string tried(StepTime time, double* before, double* next) const;

 private:
  /// Values of the states' fields as a stage has them, at a cell and an offset from it.
  using StateValues = std::function<double(std::size_t field, const Index3& cell, const Offset& offset)>;
  struct Stage {
    double t = 0.0, h = 0.0;
    StateValues state;
  };
  Bindings bindings(const Stage& stage, const Index3& cell) const;
  std::string cause_in(const Expr& e, const std::string& where, const Stage& stage, const Index3& cell) const;
  std::string cause_behind(const Node& read, const Stage& stage, const Index3& cell) const;
  std::string cause_beyond_wall(std::size_t field, const Offset& offset, const Stage& stage, const Index3& cell) const;
  std::string cause_in_evaluations(StepTime time, std::size_t count, const BadValue& bad) const;
  std::string cause_at_cell(StepTime time, double* before, const Index3& cell) const;
  std::string cause_at(const std::vector<double>& values, double t, double h, const Index3& cell) const;
  std::string cause_in_jump(StepTime time, double* before, const BadValue& bad) const;
  std::string cause_of_failure(const StepFailure& failure, StepTime time, double* before, const Index3& cell) const;
  std::vector<double> values_at(double* state, const Index3& cell) const;
  /// What is not finite, " at x = 0.5", and why.
  struct Trouble {
    std::string what, place, why;
  };
  std::optional<Trouble> trouble(StepTime time, double* before, const BadValue& bad) const;
  std::string overflow_text() const;
  double value(CellArray field, const Index3& cell, const Offset& offset) const;

  const SimulationSpec& spec_;
  const Model& model_;
  Graph& graph_;
  const Stepper& stepper_;
  const Grid& grid_;
  Tables& tables_;
};

/// Looks at states of a sweep now and then, and repeats the steps since the last good one to say where it diverged.
class DivergenceWatch {
 public:
  /// Both must outlive it.
  DivergenceWatch(const Discretisation& problem, States& states) : problem_(problem), states_(states) {}
  /// @throws NumericsError naming field, step, place and cause when state k, reached for the first time, is looked at
  /// and is not finite. Collective.
  void look_at(std::int64_t k, const Buffer& state) {
    constexpr std::int64_t interval = 32;  // steps between two looks
    if (k == 0 || k >= looked_at_ + interval || k == problem_.time().steps()) require_finite(k, state);
  }
  /// The same, whenever that was.
  void look_now(std::int64_t k, const Buffer& state) {
    if (k > looked_at_) require_finite(k, state);
  }
  /// A sweep goes on with state k, which is good; without one, it is not the first way through the steps.
  void go_on(std::int64_t k, const Buffer& state) {
    good_ = state;
    good_step_ = k;
    looked_at_ = std::max<std::int64_t>(0, k);
  }
  void forget() { good_.reset(); }

 private:
  void require_finite(std::int64_t k, const Buffer& state);
  [[noreturn]] void report(std::int64_t k);
  DivergenceFinder finder() const;

  const Discretisation& problem_;
  States& states_;
  Buffer good_;
  std::int64_t good_step_ = 0, looked_at_ = 0;
};

}  // namespace hindsight
