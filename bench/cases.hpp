// The problems that are measured.
#pragma once

#include <string>
#include <vector>

#include "src/session.hpp"

namespace hindsight::bench {

/// gray-scott as shipped, with the objective of the peer: the final integral of (u - 1/2)^2; unknowns F, k, initial(u),
/// initial(v).
inline Case gray_scott(int cells, int steps, double step, const std::vector<std::string>& more = {}) {
  std::vector<std::string> set{"grid.x.cells=" + std::to_string(cells), "grid.y.cells=" + std::to_string(cells),
                               "time.step=" + std::to_string(step), "time.to=" + std::to_string(step * steps)};
  set.insert(set.end(), more.begin(), more.end());
  return parse_case("bench.yaml", R"yaml(
case: gray-scott
grid: {x: {cells: 16, to: 2.5}, y: {cells: 16, to: 2.5}}
parameters: {Du: 8e-5, Dv: 4e-5, F: 0.024, k: 0.06}
state: {u: {initial: "1 - 2*bump(x, y)"}, v: {initial: "bump(x, y)"}}
functions:
  bump(x, y): "where(abs(x - 1.25) < 0.25 and abs(y - 1.25) < 0.25, 0.25*sin(4*pi*x)^2*sin(4*pi*y)^2, 0)"
equations:
  dt(u): "Du*lap(u) - u*v^2 + F*(1 - u)"
  dt(v): "Dv*lap(v) + u*v^2 - (F + k)*v"
time: {method: rk4, step: 1, to: 1}
objective: [{final: "(u - 0.5)^2"}]
unknowns: {F: {}, k: {}, initial(u): {}, initial(v): {}}
checkpoints: {schedule: store-all}
)yaml",
                    set);
}

/// A flame with Arrhenius kinetics: more arithmetic per byte than Gray-Scott.
inline Case ignition(int cells, int steps, const std::vector<std::string>& more = {}) {
  std::vector<std::string> set{"grid.x.cells=" + std::to_string(cells), "grid.y.cells=" + std::to_string(cells),
                               "time.to=" + std::to_string(1e-5 * steps)};
  set.insert(set.end(), more.begin(), more.end());
  return parse_case("bench.yaml", R"yaml(
case: ignition
grid: {x: {cells: 16, to: 1}, y: {cells: 16, to: 1}}
parameters: {D: 0.05, q: 1, e: 5, A: 100}
state:
  T: {initial: "1 + exp(-50*((x - 0.5)^2 + (y - 0.5)^2))"}
  c: {initial: 1}
equations:
  dt(T): "D*lap(T) + q*A*c*exp(-e/T)"
  dt(c): "D*lap(c) - A*c*exp(-e/T)"
time: {method: rk4, step: 1e-5, to: 1}
objective: [{final: "T^2"}]
unknowns: {q: {}, e: {}, A: {}, initial(T): {}}
)yaml",
                    set);
}

}  // namespace hindsight::bench
