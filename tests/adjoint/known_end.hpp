// A problem whose end is known: adaptive runs of it end within ten times their tolerance.
#pragma once

#include <cmath>
#include <string>

#include "tests/support.hpp"

namespace hindsight::test {

/// @param digits_at_most of the tightest tolerance. @param steps_at_most of each run.
inline void expect_end_within_ten_tolerances(const std::string& method, int digits_at_most, int steps_at_most) {
  const std::string known = R"yaml(
case: known
state: {u: {initial: "1"}, v: {initial: "1"}, w: {initial: "0"}, q: {initial: "0.1"}}
equations:
  dt(u): {implicit: "-u^2"}
  dt(v): {explicit: "-w"}
  dt(w): {implicit: v}
  dt(q): {explicit: q, implicit: "-q^2"}
objective: [{final: "max(max(abs(u - 0.2), abs(v - cos(4))), max(abs(w - sin(4)), abs(q - 1/(1 + 9*exp(-4)))))"}]
)yaml";
  for (int digits = 3; digits <= digits_at_most; ++digits) {
    const std::string tolerance = "1e-" + std::to_string(digits);
    Session session(text_case(known + "time: {method: " + method + ", tolerance: " + tolerance +
                              ", to: 4, at most: " + std::to_string(steps_at_most) + "}\n"),
                    self(), Sensitivities::none);
    EXPECT_LE(session.objective({}), 10 * std::pow(10.0, -digits)) << method << " " << tolerance;
    EXPECT_GT(session.objective({}), 0.0);
  }
}

}  // namespace hindsight::test
