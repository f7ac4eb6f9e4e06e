// Explicit Runge-Kutta methods are their tableaux.
#pragma once

#include <string>
#include <vector>

namespace hindsight {

/// K_i = F(t + c_i h, Y_i), Y_i = u + h sum_{j<i} a[i][j] K_j, u' = u + h sum_i b_i K_i.
struct Tableau {
  std::string name;
  int order = 1;
  std::vector<std::vector<double>> a;  ///< row i has i entries
  std::vector<double> b, c;
  int stages() const { return static_cast<int>(b.size()); }
};

/// euler, midpoint, heun, ssprk3, rk4, dopri5. Sources: Hairer, Norsett, Wanner, Solving ODEs I, tables II.1.1, II.1.2,
/// II.5.2 (Dormand and Prince 1980, fifth-order weights; the seventh stage serves only error estimates and is left
/// out); Shu and Osher 1988 (ssprk3).
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
