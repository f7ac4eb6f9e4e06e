// The methods in time that there are: facts about each, for the parser, the schema, help and messages.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/registry.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

struct Method {
  std::string name;    ///< what a case calls it
  std::string family;  ///< "explicit Runge-Kutta"
  int order = 1;
  bool estimates_errors = false;                ///< steps of it can be as long as tolerances allow
  bool has_adjoint = true, has_tangent = true;  ///< without: refused where derivatives are asked for
  /// Its steps read or write cells in C++, which a device's memory does not allow: refused on other machines.
  bool host_only = false;
  bool uses_petsc = false;          ///< for equations that read neighbours (Stepper::Wants::petsc)
  bool takes_constraints = false;   ///< (Model::constrained)
  bool takes_sources = false;       ///< (Model::sources)
  bool takes_singles = false;       ///< states may be singles (Graph::element())
  bool takes_two_parts = false;     ///< equations tell which (Model::implicit_parts), or are refused
  bool is_of_second_order = false;  ///< for equations dtt(u), and for no others (Model::is_second_order)
  bool has_theta = false;           ///< its weight of the new state is asked for (Stepper::Wants::theta)
  /// What may help when a state overflows: the end of a sentence that begins with "; ", or nothing.
  std::string advice = {};
  std::string advice_on_many_steps = {};  ///< where errors decide them and they are too many; added likewise
  std::function<std::unique_ptr<Stepper>(const Model&, const Active&, Stepper::Wants)> make;
};

/// Families one after another. What is added must be there before the first case is read.
Registry<Method>& methods();

}  // namespace hindsight
