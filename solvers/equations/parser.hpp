// From text to graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/error.hpp"
#include "solvers/equations/graph.hpp"

namespace hindsight {

/// A function that the case defines: name, argument names, body. Bodies may call other functions, not themselves.
struct UserFunction {
  std::string name;
  std::vector<std::string> arguments;
  std::string body;
  SourcePlace place;  ///< of the first character of the body
};

/// The scalar that the name `step` stands for: the length of the step being taken. No case can name it.
inline const std::string step_length = "@step";

/// What names mean inside an expression. A name stands for one thing only.
struct Scope {
  int dimensions = 0;                ///< coordinates x, y, z exist up to this; 0 for an ODE
  std::vector<std::string> scalars;  ///< parameters and time series, t included where it is allowed
  std::vector<std::string> fields;   ///< state fields and parameter fields allowed here
  std::vector<std::string> rates;    ///< state fields whose first derivatives in time, dt(u), may be read (Model::rate)
  std::map<std::string, UserFunction> functions;
  std::vector<double> spacing;  ///< of the grid's cells, per axis: hx, hy, hz, where nothing else has these names
  bool step = false;            ///< whether `step` stands for the length of the step, where nothing else has this name
  bool operators = true;        ///< whether dx, lap, ... may be used here
  enum class Random { none, of_cell, of_cell_and_step };
  Random random = Random::none;  ///< what noise and uniform mean here, if they may be used
};

/// Grammar, loosest first: or; and; not; comparisons < <= > >= == !=; + -; * /; unary + -; ^ (right-associative, binds
/// tighter than unary minus on its left: -2^2 = -4); numbers, names, calls, parentheses. `pi` is known. A name of the
/// case's own (argument, parameter, field, function) goes before hx, hy, hz and step. Functions: abs
/// min max sqrt exp log sin cos tan tanh where; random numbers noise(seed, stream) uniform(seed, stream), whose
/// arguments are integer constants; dt(u) of a state; operators dx dy dz dxx dyy dzz lap grad2 div(k*grad(u))
/// upwind(c, u, axis). Axis names are x, y, z.
/// @param place of the first character of `text`; columns in errors count from there.
/// @throws InputError with line and column: syntax (what was expected), unknown name (nearest name and what is
/// allowed),
///   wrong number of arguments, a seed or stream that is no integer constant, operator without a grid, an axis that the
///   grid lacks, nesting deeper than 200, more than 200000 nodes or, with functions written out, a million terms.
Expr parse(Graph& graph, const std::string& text, const Scope& scope, const SourcePlace& place);

/// The value of an expression of numbers alone: 8/3, 2*pi/24, sqrt(2). @throws InputError as parse(), without a place.
double parse_number(const std::string& text);

/// Names that no parameter, field or function of a case may take: functions, operators, t, pi, and or not, ... The
/// coordinates of a grid's axes are not among them.
const std::vector<std::string>& reserved_names();

}  // namespace hindsight
