// The methods in time that there are: facts about each, for the parser, the schema, help and messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solvers/steppers/stepper.hpp"

namespace hindsight {

struct Method {
  std::string name;    ///< what a case calls it
  std::string family;  ///< "explicit Runge-Kutta"
  int order = 1;
  bool has_adjoint = true, has_tangent = true;
  /// What may help when a state overflows: the end of a sentence that begins with "; ", or nothing.
  std::string advice = {};
  std::function<std::unique_ptr<Stepper>(const Model&, const Active&, Stepper::Wants)> make;
};

/// All of them, in the order of their families.
const std::vector<Method>& methods();
std::vector<std::string> method_names();
/// @throws InputError with the nearest name.
const Method& find_method(const std::string& name);
/// Adds a method to methods(): before the first case is read. @throws Error(bug) when there is one of this name.
void register_method(Method method);

}  // namespace hindsight
