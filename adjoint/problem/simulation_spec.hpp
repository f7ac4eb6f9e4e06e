// What is to be simulated: everything but where it runs.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/objective/end_condition.hpp"
#include "adjoint/objective/term.hpp"
#include "runtime/error.hpp"
#include "runtime/petsc_options.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/steppers/events/jumps.hpp"
#include "solvers/steppers/kernels/point_sources.hpp"
#include "solvers/steppers/tolerances.hpp"
#include "solvers/time/step_rules.hpp"

namespace hindsight {

struct ParameterField {
  std::string name;
  Expr expression;  ///< of coordinates; or invalid, and then `fill` gives the owned cells
  std::function<void(const Grid&, double* cells)> fill;
  std::string place = {};  ///< of the expression, for messages: " (case.yaml:3:20)"
};

/// What messages call the expressions of a model: "dt(u) (case.yaml:4:13)".
struct ExpressionNames {
  std::vector<std::string> equations, initial, rates;            ///< parallel to model.fields
  std::vector<std::array<std::array<std::string, 2>, 3>> walls;  ///< as model.walls
};

struct Unknown {
  enum class Kind { scalar, series, field, initial, rate };
  std::string name;
  Kind kind = Kind::scalar;
  Expr where = {};  ///< of a field: holds in the cells that are unknown (MovingCells); invalid: all are
  SourcePlace where_place = {};
  std::string label() const {
    return kind == Kind::initial ? "initial(" + name + ")" : kind == Kind::rate ? "rate(" + name + ")" : name;
  }
  /// Of cells of the state that a run begins with.
  bool is_of_state() const { return kind == Kind::initial || kind == Kind::rate; }
  bool is_field() const { return kind == Kind::field || is_of_state(); }
};

/// What cannot be computed on a device: "the term 'cube: q'".
struct HostOnly {
  std::string what;
  SourcePlace place = {};
};

/// Everything about a simulation except where it runs. Plain data.
struct SimulationSpec {
  Model model;
  ExpressionNames names;
  std::string method = "rk4";
  double theta = 0.5;                ///< Stepper::Wants
  PetscOptions petsc = {};           ///< Stepper::Wants
  SourcePlace time_place = {};       ///< of what is said about method and steps, for messages
  SourcePlace precision_place = {};  ///< of what is said about the elements of fields (Graph::element())
  std::vector<Axis> axes;
  double from = 0.0, to = 1.0, step = 1.0;
  std::string steps = "fixed";                ///< who decides them (solvers/time/step_sources.hpp)
  StepRules rules = {};                       ///< by which
  std::optional<Tolerances> tolerances = {};  ///< of errors, where they decide
  std::vector<Jump> jumps;                    ///< events
  // Times that steps land on, beside those of events and observations, and knots of series where errors decide.
  std::vector<double> outputs, switches;
  std::vector<double> scalar_values;             ///< parallel to model.scalars
  std::vector<Series> series;                    ///< parallel to model.series
  std::vector<ParameterField> parameter_fields;  ///< parallel to model.parameter_fields
  SourcePoints sources;                          ///< parallel to model.sources
  std::vector<Expr> initial;  ///< parallel to model.fields; of scalars, parameter fields and coordinates
  std::vector<Expr> rates;  ///< likewise, where equations are of second order: the first derivatives in time; or empty
  std::vector<Unknown> unknowns;
  TermSpecs terms;  ///< of the objective, in the order in which they are added up
  /// Terms that compute on the host alone, for messages.
  std::vector<HostOnly> host_only;
  std::optional<StopSpec> until;  ///< then `to` is the latest end
};

}  // namespace hindsight
