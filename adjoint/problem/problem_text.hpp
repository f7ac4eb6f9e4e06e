// A problem as somebody writes it: equations and everything else as texts and numbers, before it is parsed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/objective/misfit.hpp"
#include "adjoint/problem/simulation_spec.hpp"
#include "runtime/error.hpp"
#include "runtime/petsc_options.hpp"

namespace hindsight {

/// An expression as it was written; a bare number is its text. `place` is that of its first character, so that errors
/// found later (unknown names, wrong data) can say file, line and column; problems that come from no file have none.
struct Text {
  std::string text;
  SourcePlace place = {};
};

enum class Edge { periodic, value, slope };

/// One side of an axis. The expression may name a field's own rule: {u: {value: 0}, v: {slope: 1}} gives one per field.
struct EdgeRule {
  Edge edge = Edge::periodic;
  Text expression;  ///< value or slope
};

struct AxisText {
  std::string name;  ///< x, y or z; in this order
  std::int64_t cells = 0;
  double from = 0.0, to = 1.0;
  bool periodic = true;
  /// [lower, upper] rules when not periodic, for fields that have none of their own
  std::array<EdgeRule, 2> sides = {};
  /// rules of single fields: `boundary: {lower: {u: {value: 1}}, upper: ...}`
  std::array<std::map<std::string, EdgeRule>, 2> field_sides = {};
  SourcePlace place = {};
};

struct GridText {
  std::vector<AxisText> axes;
  int order = 2;                ///< of differences: 2, 4, 6, 8
  bool harmonic_means = false;  ///< on faces; else arithmetic ones
};

/// One parameter. Exactly one kind.
struct ParameterText {
  enum class Kind { scalar, field, field_file, series };
  std::string name;
  Kind kind = Kind::scalar;
  double value = 0.0;                           ///< scalar
  Text field = {};                              ///< field: an expression of coordinates
  std::vector<double> times = {}, values = {};  ///< series: knots, increasing; linear in between, constant outside
  /// field_file: gives the owned cells. Collective. @throws InputError
  std::function<void(const Grid&, double* cells)> fill = {};
  std::string file = {};  ///< that the field or the series comes from, for messages
  SourcePlace place = {};
};

struct StateText {
  std::string name;
  Text initial;  ///< of a field that a constraint fixes: the first guess
  SourcePlace place = {};
  std::optional<Text> rate = {};  ///< the first derivative in time, of a field whose equation is of second order
};

struct FunctionText {
  std::string name;
  std::vector<std::string> arguments;
  Text body;
};

/// The equation of a state: M dt(field) = E, dtt(field) = E, or 0 = E.
struct EquationText {
  std::string field;
  Text right_hand_side = {};  ///< E, where it is one expression
  std::optional<Text> explicit_part = {},
                      implicit_part = {};  ///< whose sum E is otherwise; for methods that take them apart
  std::optional<Text> mass = {};           ///< M, of parameters and coordinates; without: 1
  bool is_constraint = false;              ///< 0 = E
  bool is_balanced = false;                ///< Model::balanced
  bool is_second_order = false;            ///< dtt(field) = E, in which dt(field) may damp
  bool has_parts() const { return explicit_part || implicit_part; }
  /// "dt(u)", "dtt(u)" or "zero(u)"
  std::string name() const { return (is_constraint ? "zero(" : is_second_order ? "dtt(" : "dt(") + field + ")"; }
};

struct TimeText {
  std::string method = "rk4";                 ///< one of methods() (solvers/steppers/methods.hpp)
  double theta = 0.5;                         ///< the weight of the new state in the method theta
  std::string steps = "fixed";                ///< one of step_sources() (solvers/time/step_sources.hpp)
  std::string table = {};                     ///< the file that rules.times come from, for messages
  StepRules rules = {};                       ///< by which
  std::optional<Tolerances> tolerances = {};  ///< of errors, where they decide
  double from = 0.0, step = 0.0, to = 0.0;
  std::optional<Text> until = {};     ///< "norm(EXPRESSION) < NUMBER" (or >) ends the run; then `to` is the latest end
  std::vector<double> switches = {};  ///< times that steps land on, where rates change at once
  double land_every = 0.0;  ///< time between outputs, on which states land as on observations; 0: only the end
  SourcePlace place = {};

  /// A time within the run; none: outside. Those that pass an end by rounding lie there: sums of steps, and times that
  /// were written with ten digits.
  std::optional<double> within(double t) const;
};

/// Layers of cells along sides of the grid in which states are damped, the more the nearer to the side: rates by
/// -s*state, or in equations of second order by -s*dt(state), with s = strength*(depth in the layer/its width)^2.
struct AbsorbText {
  enum class Kind { sponge, pml } kind = Kind::sponge;
  std::int64_t cells = 0;
  double strength = 0.0;                          ///< of a sponge, per time
  std::optional<double> speed = {};               ///< of waves in a pml; absent: the highest in each layer
  std::array<std::array<bool, 2>, 3> sides = {};  ///< by axis, lower and upper
  SourcePlace place = {};
};

/// Points from which a series acts on the equation of a state.
struct SourceText {
  std::string to;      ///< a state
  std::string signal;  ///< a parameter that is a series
  std::vector<SourcePoint> points = {};
  PointWeights weights = PointWeights::linear;
  std::string file = {};  ///< that the points come from, for messages
  SourcePlace place = {};
};

/// At these times fields take new values, all at once.
struct EventText {
  struct Assignment {
    std::string field;
    Text value;
    SourcePlace place = {};
  };
  std::vector<double> at;
  std::vector<Assignment> set;
  SourcePlace place = {};
};

/// One term of the objective.
struct TermText {
  std::string kind;     ///< one of term_kinds() (adjoint/objective/term_kinds.hpp), or misfit
  Text expression;      ///< misfit: a field or an expression of fields
  double weight = 1.0;  ///< any kind
  bool is_misfit() const { return kind == "misfit"; }
  // misfit: J = 1/2 sum w ((simulated - observed)/noise)^2, of logarithms with log
  std::vector<PointObservation> observations = {};  ///< sorted by time, within the run and the grid
  double noise = 1.0;
  PointWeights weights = PointWeights::linear;
  bool log = false;
  std::optional<FilterSpec> filter = {};            ///< of both sides, along the time of each trace
  bool may_be_filtered = false;                     ///< whether there are others that may take its place
  std::string data = {};                            ///< the file that the observations come from
  std::string time_column = {}, value_column = {};  ///< of a table of rows
  std::string places_file = {};    ///< of observations at regular times, the file of their places; else empty
  std::string dataset = "values";  ///< of `data` then
  SourcePlace place = {};
};

/// What derivatives are taken by.
struct UnknownText {
  std::string name;      ///< parameter, or state for initial(...) and rate(...)
  bool initial = false;  ///< initial(name)
  SourcePlace place = {};
  bool rate = false;  ///< rate(name)
  /// Of a field on a grid: a condition on coordinates, scalar parameters and other parameter fields, which holds in the
  /// cells that are unknown; without, all are.
  std::optional<Text> where = {};
  bool is_of_state() const { return initial || rate; }
  std::string label() const { return initial ? "initial(" + name + ")" : rate ? "rate(" + name + ")" : name; }
};

struct ProblemText {
  std::optional<GridText> grid = {};     ///< absent: an ODE
  Element precision = Element::float64;  ///< of fields, checkpoints and kernels
  SourcePlace precision_place = {};
  std::vector<ParameterText> parameters = {};
  std::vector<StateText> state = {};
  std::vector<FunctionText> functions = {};
  std::vector<EquationText> equations = {};
  TimeText time = {};
  std::vector<EventText> events = {};
  std::optional<AbsorbText> absorb = {};
  std::vector<SourceText> sources = {};
  std::vector<TermText> objective = {};
  std::vector<UnknownText> unknowns = {};
  PetscOptions petsc = {};                      ///< of the solvers of implicit steps
  std::vector<std::string> petsc_changes = {};  ///< of those, what was added after the run began, for reports
};

/// Parses and discretises every expression. @throws InputError with the expression's place, if it has one; when a state
/// has no equation, and when an unknown is neither a parameter nor the initial value of a state.
SimulationSpec read_problem(const ProblemText& problem);

}  // namespace hindsight
