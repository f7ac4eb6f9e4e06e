#include "solvers/steppers/implicit/methods.hpp"

#include "solvers/steppers/implicit/additive_runge_kutta.hpp"
#include "solvers/steppers/implicit/bdf2.hpp"
#include "solvers/steppers/implicit/diagonal_runge_kutta.hpp"
#include "solvers/steppers/implicit/rosenbrock.hpp"
#include "solvers/steppers/implicit/tableaux.hpp"

namespace hindsight {
namespace {

Method implicit(const std::string& name, const std::string& family, int order, bool estimates_errors) {
  Method method;
  method.name = name;
  method.family = family;
  method.order = order;
  method.estimates_errors = estimates_errors;
  method.host_only = true;
  method.uses_petsc = true;
  method.takes_constraints = true;
  method.advice = "; a smaller time.step may help";
  return method;
}

Method diagonal(const Tableau& tableau) {
  Method method = implicit(tableau.name, "diagonally implicit Runge-Kutta", tableau.order, !tableau.error.empty());
  method.make = [tableau](const Model& model, const Active& active, const Stepper::Wants& wants) {
    return std::make_unique<DiagonalRungeKutta>(model, tableau, active, wants);
  };
  return method;
}

}  // namespace

std::vector<Method> implicit_methods() {
  std::vector<Method> all;
  for (const Tableau& tableau : diagonal_tableaux()) all.push_back(diagonal(tableau));
  all.push_back(implicit("theta", "diagonally implicit Runge-Kutta", 1, false));
  all.back().has_theta = true;
  all.back().make = [](const Model& model, const Active& active, const Stepper::Wants& wants) {
    return std::make_unique<DiagonalRungeKutta>(model, theta_tableau(wants.theta), active, wants);
  };
  all.push_back(implicit("bdf2", "backward differentiation", 2, true));
  all.back().make = [](const Model& model, const Active& active, const Stepper::Wants& wants) {
    return std::make_unique<Bdf2>(model, active, wants);
  };
  for (const AdditiveTableau& tableau : additive_tableaux()) {
    const Tableau& both = tableau.explicit_part;
    all.push_back(implicit(both.name, "additive Runge-Kutta", both.order, true));
    all.back().takes_two_parts = true;
    all.back().make = [tableau](const Model& model, const Active& active, const Stepper::Wants& wants) {
      return std::make_unique<AdditiveRungeKutta>(model, tableau, active, wants);
    };
  }
  for (const RosenbrockTableau& tableau : rosenbrock_tableaux()) {
    all.push_back(implicit(tableau.name, "Rosenbrock", tableau.order, true));
    all.back().takes_constraints = tableau.is_stiffly_accurate();
    all.back().make = [tableau](const Model& model, const Active& active, const Stepper::Wants& wants) {
      return std::make_unique<Rosenbrock>(model, tableau, active, wants);
    };
  }
  return all;
}

}  // namespace hindsight
