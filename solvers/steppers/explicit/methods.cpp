#include "solvers/steppers/explicit/methods.hpp"

#include "solvers/steppers/explicit/runge_kutta.hpp"
#include "solvers/steppers/explicit/tableau.hpp"

namespace hindsight {

std::vector<Method> explicit_methods() {
  std::vector<Method> all;
  for (const Tableau& tableau : tableaux()) {
    Method method;
    method.name = tableau.name;
    method.family = "explicit Runge-Kutta";
    method.order = tableau.order;
    method.takes_sources = true;
    method.takes_singles = true;
    method.estimates_errors = !tableau.error.empty();
    method.advice = "; the methods are explicit: a smaller time.step may be stable";
    method.advice_on_many_steps = "; where the problem is stiff, an implicit method such as rodas4 takes fewer";
    method.make = [&tableau](const Model& model, const Active& active, Stepper::Wants wants) {
      return std::make_unique<RungeKutta>(model, tableau, active, wants);
    };
    all.push_back(method);
  }
  return all;
}

}  // namespace hindsight
