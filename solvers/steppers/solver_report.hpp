// What steppers say of the solvers that their steps call.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hindsight {

struct SolverReport {
  /// How they solve, by the prefix of their options: "-step_": "cg, preconditioned by icc, to 1e-12".
  std::map<std::string, std::string> solvers{};
  /// What a user is to know: whose memory nobody counts, which do not repeat themselves.
  std::vector<std::string> notes{};
};

}  // namespace hindsight
