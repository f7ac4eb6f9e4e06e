#include "solvers/steppers/explicit/tableau.hpp"

#include <cmath>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

const std::vector<Tableau>& tableaux() {
  static const std::vector<Tableau> all = {
      {"euler", 1, {{}}, {1.0}, {0.0}},
      {"midpoint", 2, {{}, {0.5}}, {0.0, 1.0}, {0.0, 0.5}},
      {"heun", 2, {{}, {1.0}}, {0.5, 0.5}, {0.0, 1.0}},
      {"ssprk3", 3, {{}, {1.0}, {0.25, 0.25}}, {1.0 / 6, 1.0 / 6, 2.0 / 3}, {0.0, 1.0, 0.5}},
      {"rk4", 4, {{}, {0.5}, {0.0, 0.5}, {0.0, 0.0, 1.0}}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}, {0.0, 0.5, 0.5, 1.0}},
      {"bs3",
       3,
       {{}, {0.5}, {0.0, 0.75}},
       {2.0 / 9, 1.0 / 3, 4.0 / 9},
       {0.0, 0.5, 0.75},
       {-5.0 / 72, 1.0 / 12, 1.0 / 9, -1.0 / 8},
       2},
      {"dopri5",
       5,
       {{},
        {1.0 / 5},
        {3.0 / 40, 9.0 / 40},
        {44.0 / 45, -56.0 / 15, 32.0 / 9},
        {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
        {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656}},
       {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
       {0.0, 0.2, 0.3, 0.8, 8.0 / 9, 1.0},
       {71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40},
       4},
      {"tsit5",
       5,
       {{},
        {0.161},
        {-0.008480655492356989, 0.335480655492357},
        {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
        {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
        {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383}},
       {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774},
       {0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0},
       {-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629, 0.5823571654525552,
        -0.45808210592918697, 1.0 / 66},
       4},
  };
  return all;
}

const Tableau& tableau(const std::string& name) {
  std::vector<std::string> names;
  for (const Tableau& t : tableaux()) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  throw InputError("unknown time method '" + name + "'" + did_you_mean(name, names) + "; known: " + join(names));
}

Elimination eliminate(const std::vector<std::vector<double>>& lower) {
  Elimination result;
  result.useful = true;
  const std::size_t n = lower.size();
  for (std::size_t i = 0; i < n; ++i) {
    // Solve sum_{j<=m<i} g_m L_mj = L_ij for j = i-1 down to 0.
    std::vector<double> g(i, 0.0);
    for (std::size_t j = i; j-- > 0;) {
      double rest = lower[i][j];
      for (std::size_t m = j + 1; m < i; ++m) rest -= g[m] * lower[m][j];
      if (lower[j][j] == 0.0) {
        result.useful = result.useful && rest == 0.0;
        continue;
      }
      g[j] = rest / lower[j][j];
      result.useful = result.useful && std::fabs(g[j]) <= 4.0;
    }
    result.g.push_back(g);
  }
  return result;
}

}  // namespace hindsight
