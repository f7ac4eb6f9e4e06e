#include "solvers/steppers/implicit/petsc/other_packages.hpp"

#include <petscksp.h>

#include <algorithm>
#include <array>

#include "runtime/petsc.hpp"
#include "solvers/steppers/implicit/petsc/preconditioner_parts.hpp"

namespace hindsight {
namespace {

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
  for (const PC inner : parts_of(pc))
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
