#include "solvers/steppers/leapfrog/methods.hpp"

#include "solvers/steppers/leapfrog/leapfrog.hpp"

namespace hindsight {

std::vector<Method> leapfrog_methods() {
  Method method;
  method.name = "leapfrog";
  method.family = "leapfrog";
  method.order = 2;
  method.is_of_second_order = true;
  method.takes_sources = true;
  method.takes_singles = true;
  method.advice = "; the method is explicit: a smaller time.step may be stable";
  method.make = [](const Model& model, const Active& active, Stepper::Wants wants) {
    return std::make_unique<Leapfrog>(model, active, wants);
  };
  return {method};
}

}  // namespace hindsight
