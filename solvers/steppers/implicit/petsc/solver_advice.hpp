// Which options may help where a solver of PETSc gave up: others than those that are in use.
#pragma once

#include <petscsnes.h>

#include <string>

namespace hindsight {

/// "options that may help: -step_pc_type lu, -step_ksp_max_it". @param prefix "-step_".
std::string advice_on(KSP solver, const std::string& prefix);
std::string advice_on(SNES solver, const std::string& prefix);

/// The preconditioner of a solver; where each process solves all of it by itself (PCREDUNDANT), the one by which.
PC preconditioner_of(KSP solver);
/// Empty: none yet.
std::string type_of(PC preconditioner);
bool makes_factors(PC preconditioner);

}  // namespace hindsight
