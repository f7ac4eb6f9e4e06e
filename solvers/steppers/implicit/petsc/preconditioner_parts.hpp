// What preconditioners are made of.
#pragma once

#include <petscksp.h>

#include <string>
#include <vector>

namespace hindsight {

/// Empty: none yet.
std::string type_of(PC preconditioner);
bool makes_factors(PC preconditioner);
/// The preconditioner of a solver; where each process solves all of it by itself (PCREDUNDANT), the one by which.
PC preconditioner_of(KSP solver);
/// The preconditioners inside one that has been used, of this process: of blocks, domains, fields, levels, and parts.
std::vector<PC> parts_of(PC pc);
/// "cg, preconditioned by bjacobi of icc, to 1e-12"; "factors (cholesky)". @param tolerance relative to right-hand
/// sides.
std::string description_of(KSP solver, double tolerance);

}  // namespace hindsight
