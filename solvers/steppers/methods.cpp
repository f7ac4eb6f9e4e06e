#include "solvers/steppers/methods.hpp"

#include "solvers/steppers/explicit/methods.hpp"
#include "solvers/steppers/explicit/tableau.hpp"
#include "solvers/steppers/implicit/additive_runge_kutta.hpp"
#include "solvers/steppers/implicit/methods.hpp"
#include "solvers/steppers/leapfrog/methods.hpp"

namespace hindsight {

namespace {

/// Explicit steps that solve for constraints at every stage are those of bare operators.
std::vector<Method> with_constraints(std::vector<Method> all) {
  for (Method& method : all) {
    method.takes_constraints = true;
    method.make = [plain = method.make, name = method.name](const Model& model, const Active& active,
                                                            const Stepper::Wants& wants) -> std::unique_ptr<Stepper> {
      if (!model.has_constraints()) return plain(model, active, wants);
      return std::make_unique<AdditiveRungeKutta>(model, AdditiveTableau{tableau(name), {}}, active, wants);
    };
  }
  return all;
}

}  // namespace

Registry<Method>& methods() {
  static Registry<Method> all("time method", [] {
    std::vector<Method> first;
    for (const auto& family : {with_constraints(explicit_methods()), leapfrog_methods(), implicit_methods()})
      first.insert(first.end(), family.begin(), family.end());
    return first;
  }());
  return all;
}

}  // namespace hindsight
