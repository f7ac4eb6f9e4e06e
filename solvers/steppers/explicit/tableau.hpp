// The tableaux of explicit Runge-Kutta methods.
#pragma once

#include <string>
#include <vector>

#include "solvers/steppers/tableau.hpp"

namespace hindsight {

/// euler, midpoint, heun, ssprk3, bs3, rk4, dopri5, tsit5. Sources: Hairer, Norsett, Wanner, Solving ODEs I, tables
/// II.1.1, II.1.2, II.5.2 (Dormand and Prince 1980); Shu and Osher 1988 (ssprk3); Bogacki and Shampine 1989 (bs3);
/// Tsitouras 2011, table 1 (tsit5). Of pairs whose last stage is F at the new state, that stage serves error estimates
/// alone.
const std::vector<Tableau>& tableaux();
/// @throws InputError with the nearest name.
const Tableau& tableau(const std::string& name);

/// How a triangular set of increments D_i = sum_{j<=i} L_ij X_j is written when X_j (j < i) is not kept:
/// D_i = sum_{j<i} g_ij D_j + L_ii X_i.
struct Elimination {
  bool useful = false;  ///< all needed L_jj are non-zero and no |g| exceeds 4 (else round-off would grow)
  std::vector<std::vector<double>> g;  ///< row i has i entries
};
Elimination eliminate(const std::vector<std::vector<double>>& lower_triangular);

}  // namespace hindsight
