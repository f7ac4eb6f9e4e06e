// The terms of an objective that a case names by a key and an expression, for the parser, the schema and messages.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "adjoint/objective/term.hpp"
#include "runtime/registry.hpp"

namespace hindsight {

struct TermKind {
  std::string name;  ///< the key: `- final: EXPRESSION`
  /// What the expression may read: states, neighbours, time and parameters; or parameters and coordinates alone.
  enum class Reads { states, parameters };
  Reads reads = Reads::states;
  /// @param expression discretised. @param text for messages: "final: u^2". @throws InputError, which gets the
  /// expression's place.
  std::function<std::shared_ptr<const TermSpec>(Expr expression, double weight, const std::string& text)> make;
  /// Its terms read or write cells in C++, which a device's memory does not allow: refused on other machines.
  bool host_only = false;
};

/// What is added must be there before the first case is read. Misfits, which are made of data, stand beside these.
Registry<TermKind>& term_kinds();

}  // namespace hindsight
