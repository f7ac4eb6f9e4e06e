// A system of equations ready for time stepping: d(fields)/dt = right-hand sides, or the second derivatives, with
// parameters and wall rules.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/error.hpp"
#include "solvers/equations/graph.hpp"
#include "solvers/equations/matched_layer.hpp"
#include "solvers/grid/boundary.hpp"
#include "solvers/grid/point_stencils.hpp"

namespace hindsight {

/// The rule of one wall of one field; `value` depends on scalars, series, t and coordinates only.
struct ModelWall {
  WallRule rule = WallRule::value;
  Expr value;
};

/// Values at times, linear in between, constant outside.
struct Series {
  std::string name;
  std::vector<double> times, values;

  /// The value at t is (1-w)*values[k] + w*values[k+1], k+1 clipped to the last.
  struct Place {
    std::size_t knot = 0;
    double weight = 0.0;
  };
  Place place(double t) const;
  double at(double t) const;
  /// The change per time at t, at a knot that behind it; and how the knots around place(t) share in it.
  double rate_at(double t) const;
  std::array<double, 2> rate_shares(double t) const;
};

/// Points from which a series acts on an equation: its right-hand side gets series(t) * delta(x - place) at each.
struct PointSource {
  std::size_t field = 0;   ///< whose equation
  std::size_t series = 0;  ///< index into Model::series
  PointWeights weights = PointWeights::linear;
};

/// Plain data. Right-hand sides are discretised and refer to fields, parameters and series by name, to the time as
/// scalar "t" and to the length of the step as scalar step_length (parser.hpp). The vectors run parallel to the names.
struct Model {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  int dimensions = 0;
  std::vector<std::string> fields;
  std::vector<Expr> right_hand_sides;
  /// Whether equations are of second order: d^2(field)/dt^2 = right-hand side + damping * d(field)/dt, in all fields.
  bool is_second_order = false;
  std::vector<Expr> damping;  ///< parallel to fields where they are; reads no neighbours
  /// Parallel to fields: those that have no derivative in time; their right-hand sides are zero at all times, which
  /// fixes them (an index-1 system). Empty: none.
  std::vector<bool> constrained;
  /// Parallel to fields: those whose constraints, where they leave a constant open, are made to have an integral of
  /// zero by taking what is too much away. Empty: none.
  std::vector<bool> balanced;
  /// Parallel to fields: the parts of the right-hand sides that methods of two parts take explicitly and implicitly;
  /// constraints belong to the latter. Not valid where an equation does not tell; empty: none does.
  std::vector<Expr> explicit_parts, implicit_parts;
  /// Parallel to fields: where the equations are written, for messages. Empty: nowhere.
  std::vector<SourcePlace> places;
  /// Where they are is not part of the equations (SourcePoints).
  std::vector<PointSource> sources;
  /// Layers that absorb, of equations of second order: what damps them then depends on parameters and coordinates.
  std::vector<MatchedLayer> layers;
  std::vector<std::string> scalars;  ///< scalar parameters
  std::vector<std::string> series;   ///< time series
  std::vector<std::string> parameter_fields;
  /// walls[field][axis][side]; empty on fully periodic grids and ODEs
  std::vector<std::array<std::array<ModelWall, 2>, 3>> walls;
  std::array<bool, 3> has_walls{false, false, false};  ///< per axis: not periodic

  /// What expressions call the first derivative in time of a field, before equations are taken apart.
  static std::string rate(const std::string& field) { return "dt(" + field + ")"; }
  /// True when no equation reads a neighbour: an ODE, or an ensemble of ODEs.
  bool is_pointwise() const;
  bool is_constrained(std::size_t field) const { return !constrained.empty() && constrained[field]; }
  bool is_balanced(std::size_t field) const { return !balanced.empty() && balanced[field]; }
  bool has_constraints() const;
  SourcePlace place(std::size_t field) const { return places.empty() ? SourcePlace{} : places[field]; }
};

/// The scalar that kernels multiply slopes by: the length of the step, and 1 in objective terms, whose weights hold the
/// length. No case can name it.
inline const std::string step_factor = "dt";

/// What gradients are asked of, by name.
struct Active {
  std::vector<std::string> scalars, series, parameter_fields;
};

/// Renames the state fields, the time and the series of an expression to those of one stage: u -> u@i, t -> t@i.
std::vector<Expr> at_stage(const Model& model, const std::vector<Expr>& expressions, const std::string& stage);
inline std::string staged(const std::string& name, const std::string& stage) {
  return name + "@" + stage;
}

}  // namespace hindsight
