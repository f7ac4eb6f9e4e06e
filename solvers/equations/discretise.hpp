// Derivative operators become reads of neighbours on a uniform cell-centred grid.
#pragma once

#include <array>
#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

enum class FaceMean { arithmetic, harmonic };

struct Stencils {
  int dimensions = 0;
  std::array<double, 3> spacing{1.0, 1.0, 1.0};
  int order = 2;  ///< 2, 4, 6 or 8: of central differences
  FaceMean face_mean = FaceMean::arithmetic;
};

/// Central weights of d^n/dx^n (n = 1, 2) of the given order for unit spacing; entry m + order/2 belongs to offset m.
/// Fornberg 1988, Math. Comp. 51, table 1.
std::vector<double> central_weights(int derivative, int order);

/// Replaces derivative, div_grad and upwind nodes. div_grad is conservative (differences of face fluxes: order 2 with
/// the chosen face mean of k; orders 4 to 8 with arithmetic means interpolate k and differentiate u at faces to that
/// order). upwind: order 2 means first-order one-sided differences chosen by the sign of the velocity at the cell;
/// order 4 and more the third-order upwind-biased difference.
/// @throws InputError for harmonic means with order above 2, and for derivatives nested so deeply that the graph
/// explodes.
std::vector<Expr> discretise(const std::vector<Expr>& roots, const Stencils& stencils);

/// The part of div(k*grad(u)) along one axis, discretised; k and u are.
Expr flux_difference(Expr k, Expr u, int axis, const Stencils& stencils);

}  // namespace hindsight
