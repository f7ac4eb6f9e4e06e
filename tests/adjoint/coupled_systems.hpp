// Systems of many fields that all depend on each other.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "runtime/stopwatch.hpp"
#include "tests/support.hpp"

namespace hindsight::test {

/// Species that compete with all others, each pair in its own way.
inline std::string competing_species(int count, const std::string& method, int steps) {
  std::string state, equations;
  for (int i = 0; i < count; ++i) {
    state += fmt::format("  y{}: {{initial: {}}}\n", i, 0.3 + 0.5 * std::fabs(std::sin(i)));
    equations += fmt::format("  dt(y{0}): \"1 - c*y{0}^2", i);
    for (int j = 0; j < count; ++j)
      if (j != i) equations += fmt::format(" - {:.4f}*y{}*y{}", (1.5 + std::sin(3 * i + 7 * j)) / count, j, i);
    equations += "\"\n";
  }
  return "case: coupled\nparameters: {c: 1.5}\nstate:\n" + state + "equations:\n" + equations +
         fmt::format("time: {{method: {}, step: 0.02, to: {}}}\n", method, 0.02 * steps) +
         "objective: [{final: \"y0^2 + y1\"}]\nunknowns: {c: {}, initial(y1): {}}\n";
}

inline void expect_right_gradient_of_species(int count, const std::string& method, int steps) {
  SCOPED_TRACE(method);
  const Stopwatch watch;
  Session session(text_case(competing_species(count, method, steps)), self(), Sensitivities::adjoint_and_tangent);
  const double start = watch.seconds();
  expect_right_gradient(session, 1e-2, 1e-11);
  std::printf("%d fields, %s: %.1f s to start, %.1f s in all\n", count, method.c_str(), start, watch.seconds());
}

}  // namespace hindsight::test
