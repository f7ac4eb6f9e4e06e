// What somebody who wrote a case should know though nothing is wrong with it.
#pragma once

#include <string>
#include <vector>

#include "adjoint/problem/simulation.hpp"
#include "io/case/case.hpp"
#include "src/experiments.hpp"

namespace hindsight {

/// One entry per unknown of the case: whether the objective depends on it, be it through a prior alone.
std::vector<bool> used_unknowns(const Case& c, const SimulationSpec& spec);

/// One sentence each: the unknowns that the objective does not depend on, whatever the experiment; times that make
/// steps more than 1 % shorter than time.step.
std::vector<std::string> notes_on(const Case& c, const Experiments& experiments);

}  // namespace hindsight
