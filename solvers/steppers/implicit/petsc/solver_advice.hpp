// Which options may help where a solver of PETSc gave up: others than those that are in use.
#pragma once

#include <petscsnes.h>

#include <string>

namespace hindsight {

/// "options that may help: -step_pc_type lu, -step_ksp_max_it". @param prefix "-step_".
std::string advice_on(KSP solver, const std::string& prefix);
std::string advice_on(SNES solver, const std::string& prefix);

}  // namespace hindsight
