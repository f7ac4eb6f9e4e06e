// Derivatives of discretised graphs: tangent and adjoint. Second order is the tangent of the adjoint.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

/// What is differentiated against, and the symbol that carries its tangent or adjoint.
struct Seed {
  bool is_field = true;
  std::string name;  ///< of the field or scalar
  std::string dual;  ///< tangent(): name of its tangent field or scalar
};

/// Directional derivative of each root: for a read u(offset) the tangent symbol is read at the same offset.
std::vector<Expr> tangent(const std::vector<Expr>& roots, const std::vector<Seed>& seeds);

/// Derivatives of roots, by one field in a cell or in a neighbour of it after another: each costs what the nodes do
/// that depend on that, and a glance at the others.
class Partials {
 public:
  explicit Partials(const std::vector<Expr>& roots);
  /// What tangent() gives for the seed {field, dual}, with 1 in place of the dual at this offset and 0 at others: a
  /// derivative per root.
  std::vector<Expr> with_respect_to(const std::string& field, const Offset& offset, const std::string& dual);

 private:
  /// A node, and the places of its arguments.
  struct Place {
    NodeId id = 0;
    int symbol = -1;  ///< of a field
    Offset offset{0, 0, 0};
    std::array<std::size_t, 3> args{};
    int arity = 0;
  };
  Expr direction(const Place& place, int symbol, const Offset& offset, Expr dual) const;

  std::vector<Expr> roots_;
  std::vector<std::size_t> root_places_;
  std::vector<Place> places_;           // ascending
  std::vector<bool> is_in_roots_;       // by node
  std::vector<Expr> directions_;        // by place
  std::vector<unsigned char> depends_;  // by place: whether its direction is not zero
};

/// Transposed derivative, as gathers.
struct Adjoint {
  std::vector<Expr>
      fields;  ///< per requested field f: fbar[j] = sum_s dF[j-s]/df_s * lambda[j-s], lambda summed over roots
  std::vector<Expr> scalars;  ///< per requested scalar p: the cell's summand lambda[i] * dF[i]/dp (sum it over cells)
};

/// A side of the grid.
struct Side {
  std::size_t axis = 0;
  int upper = 0;  ///< 1: where the coordinate is highest

  /// Whether an offset leads towards the grid from beyond this side.
  bool leads_inwards(const Offset& offset) const { return upper != 0 ? offset[axis] < 0 : offset[axis] > 0; }
};

/// Which cells are dead: all their multipliers are zero, as beyond walls. Only what may be not finite there is masked.
struct Mask {
  Expr live = {};                   ///< true where a multiplier is not zero; invalid: nothing is masked
  std::optional<Side> beyond = {};  ///< gathers are evaluated beyond it alone: they hold what is read inwards
};

/// @param roots discretised right-hand sides F_r.
/// @param lambdas one multiplier expression per root, usually graph.field("lambda_u"); must be shiftable.
/// @param fields, scalars names to differentiate against. A gather is `constant(0)` where nothing depends.
/// Derivatives of min, max, abs and where take the branch that the value takes (ties: the first); masked branches
/// contribute exact zeros even where their derivative is not finite.
/// Cells that `mask` calls dead contribute exact zeros, too.
Adjoint adjoint(const std::vector<Expr>& roots, const std::vector<Expr>& lambdas,
                const std::vector<std::string>& fields, const std::vector<std::string>& scalars, const Mask& mask = {});

}  // namespace hindsight
