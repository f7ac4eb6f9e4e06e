// Three flows whose checkpoints are coded: smooth, with sharp fronts, chaotic.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "io/case/case.hpp"

namespace hindsight::bench {

struct LossyProblem {
  std::string name, text;
};

inline std::vector<LossyProblem> lossy_problems() {
  return {{"smooth: waves in a medium", R"yaml(
case: waves
grid: {x: {cells: 64, to: 1}, y: {cells: 64, to: 1}}
parameters: {c: 1, d: 0.01}
state:
  p: {initial: "exp(-60*((x - 0.4)^2 + (y - 0.5)^2))"}
  q: {initial: 0}
equations:
  dt(p): q
  dt(q): "c^2*(1 + 0.3*sin(2*pi*x))*lap(p) - d*q"
time: {method: rk4, step: 1e-3, to: 0.2}
objective: [{final: "p^2"}]
unknowns: {c: {}, d: {}, initial(p): {}}
)yaml"},
          {"sharp: Burgers' fronts", R"yaml(
case: fronts
grid: {x: {cells: 64, to: 1}, y: {cells: 64, to: 1}}
parameters: {nu: 4e-3}
state:
  u: {initial: "sin(2*pi*x)*cos(2*pi*y)"}
  v: {initial: "0.5 + 0.3*cos(2*pi*x)"}
equations:
  dt(u): "nu*lap(u) - u*dx(u) - v*dy(u)"
  dt(v): "nu*lap(v) - u*dx(v) - v*dy(v)"
time: {method: rk4, step: 1e-3, to: 0.2}
objective: [{final: "u^2 + v^2"}]
unknowns: {nu: {}, initial(u): {}}
)yaml"},
          {"chaotic: Ginzburg-Landau turbulence", R"yaml(
case: turbulence
grid: {x: {cells: 64, to: 64}, y: {cells: 64, to: 64}}
parameters: {b: 2, c: -1.2}
state:
  r: {initial: "0.3*sin(0.19634954*x)*cos(0.29452431*y) + 0.1*cos(0.68722339*x + 0.49087385*y)"}
  s: {initial: "0.2*cos(0.39269908*x - 0.19634954*y) + 0.1*sin(0.88357293*y)"}
equations:
  dt(r): "r + lap(r) - b*lap(s) - (r^2 + s^2)*(r - c*s)"
  dt(s): "s + lap(s) + b*lap(r) - (r^2 + s^2)*(s + c*r)"
time: {method: rk4, step: 0.05, to: 20}
objective: [{final: "r^2"}]
unknowns: {b: {}, c: {}, initial(r): {}}
)yaml"}};
}

/// One of them on a larger grid; `set` overrides further keys.
inline Case lossy_case(const LossyProblem& problem, int cells, std::vector<std::string> set) {
  set.push_back(fmt::format("grid.x.cells={}", cells));
  set.push_back(fmt::format("grid.y.cells={}", cells));
  return parse_case("bench.yaml", problem.text, set);
}

}  // namespace hindsight::bench
