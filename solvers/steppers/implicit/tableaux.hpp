// The tableaux of diagonally implicit and of additive Runge-Kutta methods, and the coefficients of Rosenbrock methods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solvers/steppers/tableau.hpp"

namespace hindsight {

/// beuler, cn (the trapezoidal rule), sdirk2, sdirk3, esdirk4. Sources: Alexander 1977 (sdirk2 and sdirk3, L-stable);
/// Kennedy and Carpenter 2003, ARK4(3)6L[2]SA, its implicit part (esdirk4).
const std::vector<Tableau>& diagonal_tableaux();
/// u' = u + h ((1 - theta) F(u) + theta F(u')); of second order where theta is 1/2.
Tableau theta_tableau(double theta);

/// Of two methods with the same b, c and error: without an implicit part the explicit one alone.
struct AdditiveTableau {
  Tableau explicit_part;
  std::optional<Tableau> implicit_part;
};
/// ark3 and ark4: ARK3(2)4L[2]SA and ARK4(3)6L[2]SA of Kennedy and Carpenter 2003; their implicit parts are L-stable
/// and stiffly accurate.
const std::vector<AdditiveTableau>& additive_tableaux();

/// (I/(h gamma) - J) U_i = F(t + alpha_i h, u + sum_j a_ij U_j) + sum_j (c_ij/h) U_j + gamma_i h dF/dt, j < i, with J
/// and dF/dt at (t, u); u' = u + sum_i m_i U_i. (Hairer, Wanner, Solving ODEs II, IV.7.)
struct RosenbrockTableau {
  std::string name;
  int order = 1;
  double gamma = 1.0;
  std::vector<std::vector<double>> a, c;  ///< row i has i entries
  std::vector<double> m, alpha, gammas;
  /// sum_i error_i U_i estimates the error of a step; empty: what A^-1 (u' - u - h/2 (F(u) + F(u'))) is does.
  std::vector<double> error;
  int embedded_order = 0;
  int stages() const { return static_cast<int>(m.size()); }
  /// Whether the new state is the input of the last stage, and what that adds: what constraints fix is right in it.
  bool is_stiffly_accurate() const;
};

/// ros3p (Lang and Verwer 2001), rodas4 (Hairer and Wanner, RODAS; stiffly accurate, order 4 with one of order 3).
const std::vector<RosenbrockTableau>& rosenbrock_tableaux();

}  // namespace hindsight
