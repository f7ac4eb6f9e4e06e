// Names of the arrays and scalars by which kernels, steppers and terms of an objective mean the same thing.
#pragma once

#include <string>

#include "solvers/equations/model.hpp"

namespace hindsight {

/// Evaluations of the equations within a step are numbered from 1; number 0 is the state between steps.
struct StageNames {
  static std::string stage(const std::string& field, int i) { return staged(field, std::to_string(i)); }
  /// Of a state's array, a direction or an adjoint: the array of the level before.
  static std::string before(const std::string& array) { return "before(" + array + ")"; }
  static std::string lambda(const std::string& field) { return "lambda(" + field + ")"; }
  static std::string ghost(const std::string& field) { return "ghost(" + field + ")"; }
  static std::string bar(const std::string& parameter) { return "bar(" + parameter + ")"; }
  static std::string dot(const std::string& name) { return "d(" + name + ")"; }
  static std::string rate(const std::string& series) { return "rate(" + series + ")"; }
  static std::string weight(const std::string& series, int i, int knot) {
    return staged("w" + std::to_string(knot) + "(" + series + ")", std::to_string(i));
  }
};

}  // namespace hindsight
