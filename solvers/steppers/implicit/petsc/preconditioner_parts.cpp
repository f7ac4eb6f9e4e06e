#include "solvers/steppers/implicit/petsc/preconditioner_parts.hpp"

#include <fmt/format.h>

#include "runtime/petsc.hpp"

namespace hindsight {
namespace {

/// Those of one solver inside.
std::vector<KSP> single_solver(PC pc, const std::string& type) {
  KSP solver = nullptr;
  if (type == PCREDUNDANT) PCRedundantGetKSP(pc, &solver);
  if (type == PCKSP) PCKSPGetKSP(pc, &solver);
  if (type == PCTELESCOPE) PCTelescopeGetKSP(pc, &solver);
  if (type == PCGALERKIN) PCGalerkinGetKSP(pc, &solver);
  return solver != nullptr ? std::vector<KSP>{solver} : std::vector<KSP>{};
}

/// Those of this process, one per block, domain or field.
std::vector<KSP> parallel_solvers(PC pc, const std::string& type) {
  PetscInt count = 0;
  KSP* solvers = nullptr;
  if (type == PCBJACOBI) PCBJacobiGetSubKSP(pc, &count, nullptr, &solvers);
  if (type == PCASM) PCASMGetSubKSP(pc, &count, nullptr, &solvers);
  if (type == PCGASM) PCGASMGetSubKSP(pc, &count, nullptr, &solvers);
  if (type == PCFIELDSPLIT) PCFieldSplitGetSubKSP(pc, &count, &solvers);
  if (solvers == nullptr) return {};
  const std::vector<KSP> all(solvers, solvers + count);
  if (type == PCFIELDSPLIT) PetscFree(solvers);
  return all;
}

std::vector<KSP> solvers_of_levels(PC pc, const std::string& type) {
  PetscInt levels = 0;
  if (type == PCMG || type == PCGAMG || type == PCHMG) PCMGGetLevels(pc, &levels);
  std::vector<KSP> all;
  for (PetscInt level = 0; level < levels; ++level) {
    KSP solver = nullptr;
    PCMGGetSmoother(pc, level, &solver);
    if (solver != nullptr) all.push_back(solver);
  }
  return all;
}

/// With what is inside it, where that is alike.
std::string text_of(PC pc) {
  const std::string type = type_of(pc);
  const bool has_like_parts = type == PCBJACOBI || type == PCASM || type == PCGASM;
  const std::vector<PC> parts = has_like_parts ? parts_of(pc) : std::vector<PC>{};
  return parts.empty() || parts[0] == nullptr ? type : type + " of " + type_of(parts[0]);
}

}  // namespace

PC preconditioner_of(KSP solver) {
  PC pc = nullptr;
  KSPGetPC(solver, &pc);
  if (type_of(pc) != PCREDUNDANT) return pc;
  KSP whole = nullptr;
  PCRedundantGetKSP(pc, &whole);
  KSPGetPC(whole, &pc);
  return pc;
}

std::string type_of(PC preconditioner) {
  PCType type = nullptr;
  PCGetType(preconditioner, &type);
  return type != nullptr ? type : "";
}

bool makes_factors(PC preconditioner) {
  const std::string type = type_of(preconditioner);
  return type == PCLU || type == PCCHOLESKY;
}

std::vector<PC> parts_of(PC pc) {
  const std::string type = type_of(pc);
  std::vector<PC> all;
  for (const auto& solvers : {single_solver(pc, type), parallel_solvers(pc, type), solvers_of_levels(pc, type)})
    for (const KSP solver : solvers) KSPGetPC(solver, &all.emplace_back(nullptr));
  PetscInt parts = 0;
  if (type == PCCOMPOSITE) PCCompositeGetNumberPC(pc, &parts);
  for (PetscInt part = 0; part < parts; ++part) PCCompositeGetPC(pc, part, &all.emplace_back(nullptr));
  return all;
}

std::string description_of(KSP solver, double tolerance) {
  const PetscErrors errors;  // of what was never set up: there is nothing in it then
  KSPType method = nullptr;
  KSPGetType(solver, &method);
  const PC pc = preconditioner_of(solver);
  if (method == nullptr || std::string(method) == KSPPREONLY)
    return makes_factors(pc) ? fmt::format("factors ({})", type_of(pc)) : text_of(pc) + " alone";
  return fmt::format("{}, preconditioned by {}, to {:g}", method, text_of(pc), tolerance);
}

}  // namespace hindsight
