#include "io/case/case.hpp"
#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

std::string case_template(const std::string& kind) {
  if (kind == "ode")
    return R"yaml(case: my-ode
parameters:
  rate: 0.5
state:
  u: {initial: 2}
equations:
  dt(u): "-rate*u"
time: {method: rk4, step: 0.01, to: 4}
objective:
  - final: "(u - 1)^2"
unknowns:
  rate: {bounds: [0, 10]}
inversion: {gradient: 1e-8}
output: {every: 0.1}
)yaml";
  if (kind == "pde")
    return R"yaml(case: my-pde
grid:
  x: {cells: 64, to: 1, boundary: periodic}      # or {value: 0}, {slope: 0}, {lower: {value: 1}, upper: {slope: 0}}
  y: {cells: 64, to: 1, boundary: {slope: 0}}
parameters:
  D: 1e-3
  velocity: {field: "sin(2*pi*x)"}               # a field, given by coordinates
state:
  u: {initial: "exp(-50*((x - 0.5)^2 + (y - 0.5)^2))"}
equations:
  dt(u): "D*lap(u) - velocity*dy(u)"
time: {method: rk4, step: 0.01, to: 1}
objective:
  - final: "(u - 0.1)^2"                         # integral over space at the end
unknowns:
  D: {scale: log}
checkpoints: {schedule: auto, host: 100 MB}
output: {every: 0.1}
)yaml";
  throw InputError("no template '" + kind + "'" + did_you_mean(kind, {"ode", "pde"}) + "; known: ode, pde");
}

}  // namespace hindsight
