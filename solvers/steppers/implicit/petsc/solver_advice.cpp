#include "solvers/steppers/implicit/petsc/solver_advice.hpp"

#include <vector>

#include "runtime/nearest_name.hpp"
#include "solvers/steppers/implicit/petsc/preconditioner_parts.hpp"

namespace hindsight {
namespace {

std::string method_of(KSP solver) {
  KSPType type = nullptr;
  KSPGetType(solver, &type);
  return type != nullptr ? type : "";
}

std::string options_text(std::vector<std::string> options, const std::string& prefix) {
  for (std::string& option : options) option.insert(0, prefix);
  return "options that may help: " + join(options);
}

PC outer_of(KSP solver) {
  PC pc = nullptr;
  KSPGetPC(solver, &pc);
  return pc;
}

/// Other factors than those that are made, and iterations that mend what they leave.
std::vector<std::string> beside_factors(KSP solver) {
  const PC pc = preconditioner_of(solver);
  const std::string inner = pc == outer_of(solver) ? "" : "redundant_";
  MatSolverType by = nullptr;
  PCFactorGetMatSolverType(pc, &by);
  std::vector<std::string> options;
  if (type_of(pc) == PCCHOLESKY) options.push_back(inner + "pc_type lu");
  if (by == nullptr || std::string(by) != MATSOLVERMUMPS) options.push_back(inner + "pc_factor_mat_solver_type mumps");
  return options;
}

}  // namespace

std::string advice_on(KSP solver, const std::string& prefix) {
  int ranks = 1;
  MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(solver)), &ranks);
  const bool has_factors = makes_factors(preconditioner_of(solver)), iterates = method_of(solver) != KSPPREONLY;
  std::vector<std::string> options;
  if (has_factors)
    options = beside_factors(solver);
  else
    options.emplace_back(ranks > 1 ? "pc_type redundant" : "pc_type lu");
  if (method_of(solver) != KSPGMRES) options.emplace_back("ksp_type gmres");
  if (iterates) options.insert(options.end(), {"ksp_max_it", "ksp_monitor"});
  return options_text(options, prefix);
}

std::string advice_on(SNES solver, const std::string& prefix) {
  SNESLineSearch search = nullptr;
  SNESLineSearchType type = nullptr;
  SNESGetLineSearch(solver, &search);
  SNESLineSearchGetType(search, &type);
  std::vector<std::string> options;
  if (type == nullptr || std::string(type) != SNESLINESEARCHBT) options.emplace_back("snes_linesearch_type bt");
  options.insert(options.end(), {"snes_max_it", "snes_monitor"});
  return options_text(options, prefix);
}

}  // namespace hindsight
