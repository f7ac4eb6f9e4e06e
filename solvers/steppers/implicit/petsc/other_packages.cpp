#include "solvers/steppers/implicit/petsc/other_packages.hpp"

#include <petscksp.h>

#include <algorithm>
#include <array>

#include "runtime/petsc.hpp"
#include "solvers/steppers/implicit/petsc/solver_advice.hpp"

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

std::vector<PC> inside(PC pc) {
  const std::string type = type_of(pc);
  std::vector<PC> all;
  for (const auto& solvers : {single_solver(pc, type), parallel_solvers(pc, type), solvers_of_levels(pc, type)})
    for (const KSP solver : solvers) KSPGetPC(solver, &all.emplace_back(nullptr));
  PetscInt parts = 0;
  if (type == PCCOMPOSITE) PCCompositeGetNumberPC(pc, &parts);
  for (PetscInt part = 0; part < parts; ++part) PCCompositeGetPC(pc, part, &all.emplace_back(nullptr));
  return all;
}

/// As MUMPS says.
std::int64_t bytes_of_mumps(PC pc) {
  Mat factors = nullptr;
  PetscInt megabytes = 0;
  if (PCFactorGetMatrix(pc, &factors) == 0) MatMumpsGetInfo(factors, 16, &megabytes);
  return std::int64_t{megabytes} << 20U;
}

void add_once(const std::string& package, std::vector<std::string>& to) {
  if (std::ranges::find(to, package) == to.end()) to.push_back(package);
}

void add_own(PC pc, OtherPackages& to) {
  const std::string type = type_of(pc);
  MatSolverType by = nullptr;
  if (makes_factors(pc) || type == PCILU || type == PCICC) PCFactorGetMatSolverType(pc, &by);
  std::string package = by != nullptr ? by : "";
  if (package == MATSOLVERMUMPS) to.bytes += bytes_of_mumps(pc);
  if (std::ranges::count(std::array<std::string, 4>{PCHYPRE, PCML, PCSPAI, PCPARMS}, type) > 0) package = type;
  int ranks = 1;
  MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), &ranks);
  const bool waits_for_none = package == MATSOLVERMUMPS || package == MATSOLVERSUPERLU_DIST;
  if (ranks > 1 && waits_for_none) add_once(package, to.unrepeatable);
  const bool is_counted = package.empty() || package == MATSOLVERPETSC || package == MATSOLVERMUMPS;
  if (!is_counted) add_once(package, to.uncounted);
}

void add_all(PC pc, OtherPackages& to) {
  add_own(pc, to);
  for (const PC inner : inside(pc))
    if (inner != nullptr) add_all(inner, to);
}

}  // namespace

OtherPackages other_packages(PC preconditioner) {
  const PetscErrors errors;  // of what was never set up: there is nothing in it then
  OtherPackages found;
  add_all(preconditioner, found);
  return found;
}

}  // namespace hindsight
