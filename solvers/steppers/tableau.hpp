// Runge-Kutta methods are their tableaux.
#pragma once

#include <string>
#include <vector>

namespace hindsight {

/// K_i = F(t + c_i h, Y_i), Y_i = u + h sum_j a[i][j] K_j, u' = u + h sum_i b_i K_i. Row i of a has i entries in
/// explicit methods, with the diagonal i + 1 in diagonally implicit ones.
struct Tableau {
  std::string name;
  int order = 1;
  std::vector<std::vector<double>> a;
  std::vector<double> b, c;
  /// b less the weights of the method embedded in it, whose order is `embedded_order`: h sum_i error_i K_i estimates
  /// the error of a step. One entry more than stages where the estimate needs F at the new state too. Empty: there is
  /// none.
  std::vector<double> error = {};
  int embedded_order = 0;
  int stages() const { return static_cast<int>(b.size()); }
};

}  // namespace hindsight
