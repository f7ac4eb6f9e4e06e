// Why an expression has no finite value: the operation at which finite numbers stop being finite.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "solvers/equations/graph.hpp"
#include "solvers/equations/interpret.hpp"

namespace hindsight {

struct NotFinite {
  Expr at;                            ///< an operation on finite arguments, or a leaf
  std::array<double, 3> arguments{};  ///< of the operation
  double value = 0.0;                 ///< infinite or no number
  /// Whether finite numbers became too large: what growth leads to, and not an operation without a value.
  bool is_overflow() const;
  /// "division by zero in 'a/(u - v)'", "overflow in 'u^2'", "'kappa' is nan"
  std::string text() const;
};

/// Follows what is not finite from the root to where it begins; of `where` only the branch that is taken. Nothing when
/// the root is finite.
std::optional<NotFinite> find_not_finite(Expr root, const Bindings& bindings);

}  // namespace hindsight
