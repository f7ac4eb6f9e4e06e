// Perfectly matched layers: which terms of an equation are stretched in a layer along a side of the grid, and how far.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/error.hpp"
#include "solvers/equations/discretise.hpp"

namespace hindsight {

/// A part of a right-hand side that holds second derivatives along one axis: factor * (second derivative), where the
/// factor depends on parameters and coordinates alone. All but the factor, which is taken in the cell, is discretised.
struct StretchedTerm {
  std::size_t field = 0;  ///< of whose equation
  Expr factor;
  Expr first;   ///< the flux along the axis: du/dx, or k du/dx
  Expr second;  ///< its derivative along the axis
};

/// Cells along one side of the grid in which derivatives along that axis, d/dx, become (1/s) d/dx in the frequency
/// domain, with s = 1 + d/(i omega + a): what enters is damped, and at no angle reflected but by the grid.
struct MatchedLayer {
  int axis = 0, side = 0;
  std::int64_t cells = 0;
  double wall = 0.0, width = 0.0;  ///< the coordinate of the side, and the length of the layer
  /// Of waves along the axis, as the layer is made for; none: the highest in the layer with the first
  /// values of parameters, each shot's own.
  std::optional<double> speed;
  std::vector<StretchedTerm> terms;
  SourcePlace place = {};  ///< that asks for it

  double spacing() const { return width / static_cast<double>(cells); }
  /// The largest d, of a profile d = largest * depth^2 with the depth from 0 to 1, that leaves 10^-(2 + cells/10) of a
  /// wave that crosses the layer twice (Collino and Tsogka 2001, eq. 34).
  double largest_damping(double speed) const;
  /// a: it keeps what does not travel from growing (Kuzuoglu and Mittra 1996). Where d differs much from cell to cell,
  /// layers of up to 6, more of it is needed: found by trying layers of 2 to 10 cells, orders 2 to 8, values and
  /// slopes.
  double shift(double speed) const;
};

/// The terms of e, an expression that is not discretised yet, that are stretched along an axis. @param field of whose
/// equation it is. @throws InputError where e holds derivatives other than second ones along an axis, a laplacian, or
/// div(k*grad(u)), or these not as a sum of terms, factor times derivative.
std::vector<StretchedTerm> stretched_terms(Expr e, std::size_t field, int axis, const Stencils& stencils);

/// The square of the speed of waves of a term along the axis, at a cell; its derivatives may read states, as where the
/// term is not linear in them. @param fields of the model.
Expr squared_speed(const StretchedTerm& term, const std::string& field, int axis, double spacing);

}  // namespace hindsight
