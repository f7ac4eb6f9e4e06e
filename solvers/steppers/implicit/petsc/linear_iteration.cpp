#include "solvers/steppers/implicit/petsc/linear_iteration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/petsc.hpp"
#include "solvers/steppers/implicit/petsc/matrix_parts.hpp"

namespace hindsight {
namespace {

/// Of a row: above it, incomplete factors take longer than multigrid (measured with 256 x 256 and 512 x 512 cells),
/// which is set up once where the matrix is fixed, else for every stage.
constexpr double longest_for_incomplete_fixed = 256.0, longest_for_incomplete = 400.0;
/// Of a row, `growth` over the diagonal: above them, factors without and with fill grow.
constexpr double most_without_fill = 1.1, most_with_fill = 2.5;

/// Of the largest rows.
struct RowSums {
  double all = 0.0, others_over_diagonal = 0.0;
  /// What lets incomplete factors grow, over the diagonal: of the row's own variable the entries with the diagonal's
  /// sign, twice (advection by central differences, not diffusion, also not of high order), and those of others, unless
  /// the row is a constraint: what that follows from is no part of what it is solved by.
  double growth_over_diagonal = 0.0;
  bool has_positive_diagonal = true;
};

/// A process's rows of a matrix, in its own columns or in those of others.
class Rows {
 public:
  /// @param numbers of the part's columns in a matrix; null: they differ from the part's by a whole number of cells.
  explicit Rows(Mat part, const PetscInt* numbers = nullptr) : part_(part), numbers_(numbers) {
    if (part_ == nullptr) return;
    PetscBool is_done = PETSC_FALSE;
    check_petsc(MatGetRowIJ(part_, 0, PETSC_FALSE, PETSC_FALSE, &count_, &begin_, &column_, &is_done),
                "look at a matrix");
    check_petsc(MatSeqAIJGetArrayRead(part_, &value_), "look at a matrix");
  }
  ~Rows() {
    if (part_ == nullptr) return;
    PetscBool is_done = PETSC_FALSE;
    MatSeqAIJRestoreArrayRead(part_, &value_);
    MatRestoreRowIJ(part_, 0, PETSC_FALSE, PETSC_FALSE, &count_, &begin_, &column_, &is_done);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  PetscInt count() const { return count_; }
  /// Of absolute values.
  double sum(PetscInt row) const {
    double all = 0.0;
    if (part_ != nullptr)
      for (PetscInt i = begin_[row]; i < begin_[row + 1]; ++i) all += std::fabs(value_[i]);
    return all;
  }
  /// See RowSums. @param variables per cell. @param sign of the diagonal.
  double growth(PetscInt row, PetscInt variables, bool counts_others, double sign) const {
    double all = 0.0;
    if (part_ == nullptr) return all;
    for (PetscInt i = begin_[row]; i < begin_[row + 1]; ++i) {
      const PetscInt column = numbers_ != nullptr ? numbers_[column_[i]] : column_[i];
      const bool is_own = column % variables == row % variables, is_diagonal = numbers_ == nullptr && column == row;
      if (is_own && !is_diagonal) all += std::fabs(value_[i]) + sign * value_[i];
      if (!is_own && counts_others) all += std::fabs(value_[i]);
    }
    return all;
  }
  double diagonal(PetscInt row) const {
    const PetscInt* const end = column_ + begin_[row + 1];
    const PetscInt* const found = std::find(column_ + begin_[row], end, row);
    return found == end ? 0.0 : value_[found - column_];
  }

 private:
  Mat part_;
  const PetscInt* numbers_;
  PetscInt count_ = 0;
  const PetscInt *begin_ = nullptr, *column_ = nullptr;
  const PetscScalar* value_ = nullptr;
};

RowSums largest_rows(Mat matrix, const std::vector<bool>& constrained) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const MatrixParts parts = parts_of(matrix);
  const Rows own(parts.own), others(parts.others, parts.columns_of_others);
  const auto variables = static_cast<PetscInt>(constrained.size());
  std::array<double, 4> largest{0.0, 0.0, 0.0, -infinity};
  for (PetscInt row = 0; row < own.count(); ++row) {
    const double sum = own.sum(row) + others.sum(row), diagonal = own.diagonal(row), size = std::fabs(diagonal);
    const bool counts_others = !constrained[static_cast<std::size_t>(row % variables)];
    const double sign = diagonal < 0.0 ? -1.0 : 1.0;
    const double growth =
        own.growth(row, variables, counts_others, sign) + others.growth(row, variables, counts_others, sign);
    largest[0] = std::max(largest[0], sum);
    largest[1] = std::max(largest[1], size > 0.0 ? (sum - size) / size : infinity);
    largest[2] = std::max(largest[2], size > 0.0 ? growth / size : infinity);
    largest[3] = std::max(largest[3], -diagonal);
  }
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), 4, MPI_DOUBLE, MPI_MAX,
                PetscObjectComm(reinterpret_cast<PetscObject>(matrix)));
  return {largest[0], largest[1], largest[2], largest[3] < 0.0};
}

/// Multigrid does not see through several constraints that follow from each other (a velocity from a stream function).
Preconditioning preconditioning_for(const RowSums& rows, bool is_fixed, std::ptrdiff_t constraints) {
  if (rows.growth_over_diagonal > most_with_fill) return Preconditioning::diagonal;
  if (rows.growth_over_diagonal > most_without_fill || constraints > 1) return Preconditioning::incomplete_filled;
  const double longest = is_fixed ? longest_for_incomplete_fixed : longest_for_incomplete;
  return rows.all > longest || constraints > 0 ? Preconditioning::multigrid : Preconditioning::incomplete;
}

/// Of fill.
int levels_of(const LinearIteration& iteration) {
  return iteration.by == Preconditioning::incomplete_filled ? 1 : 0;
}

int ranks_of(PetscObject object) {
  int ranks = 1;
  MPI_Comm_size(PetscObjectComm(object), &ranks);
  return ranks;
}

/// On several ranks, each has factors of its rows and those that they read, and what it finds for its own counts (Cai
/// and Sarkis, 1999): with its own alone, diffusion takes a third more iterations. That is not symmetric; blocks of
/// each one's own rows are.
const char* shared_incomplete(const LinearIteration& iteration) {
  return iteration.is_symmetric ? PCBJACOBI : PCASM;
}

void set_incomplete(PC pc, const LinearIteration& iteration) {
  const bool is_alone = ranks_of(reinterpret_cast<PetscObject>(pc)) == 1;
  check_petsc(PCSetType(pc, !is_alone                ? shared_incomplete(iteration)
                            : iteration.is_symmetric ? PCICC
                                                     : PCILU),
              "choose a preconditioner");
  if (is_alone) check_petsc(PCFactorSetLevels(pc, levels_of(iteration)), "choose a preconditioner");
}

}  // namespace

bool is_symmetric(Mat matrix) {
  PetscReal size = 0.0;
  PetscBool is_its_transpose = PETSC_FALSE;
  check_petsc(MatNorm(matrix, NORM_INFINITY, &size), "look at a matrix");
  check_petsc(MatIsSymmetric(matrix, 1e-14 * size, &is_its_transpose), "look at a matrix");
  return is_its_transpose == PETSC_TRUE;
}

LinearIteration iteration_for(Mat matrix, bool is_fixed, const std::vector<bool>& constrained) {
  constexpr double rounding = 1e-12;
  const RowSums rows = largest_rows(matrix, constrained);
  const bool is_definite = rows.has_positive_diagonal && rows.others_over_diagonal <= 1.0 + rounding;
  return {is_fixed && is_definite && is_symmetric(matrix),
          preconditioning_for(rows, is_fixed, std::ranges::count(constrained, true))};
}

void set_iteration(KSP solver, const LinearIteration& iteration) {
  PC pc = nullptr;
  check_petsc(KSPGetPC(solver, &pc), "choose a linear solver");
  check_petsc(KSPSetType(solver, iteration.is_symmetric ? KSPCG : KSPBCGSL), "choose a linear solver");
  check_petsc(PCSetType(pc, PCNONE), "choose a preconditioner");  // one of the same type would keep what it had read
  switch (iteration.by) {
    case Preconditioning::incomplete:
    case Preconditioning::incomplete_filled:
      return set_incomplete(pc, iteration);
    case Preconditioning::multigrid:
      check_petsc(PCSetType(pc, PCGAMG), "choose a preconditioner");
      return;
    case Preconditioning::diagonal:
      check_petsc(PCSetType(pc, PCJACOBI), "choose a preconditioner");
  }
}

/// Incomplete factors smooth advection as well as diffusion, and have a transpose.
DefaultOptions::Options options_of(const LinearIteration& iteration, const std::string& prefix, int ranks) {
  const std::string levels = "-" + prefix + "mg_levels_";
  if (iteration.by == Preconditioning::multigrid)
    return {{levels + "ksp_type", KSPRICHARDSON},
            {levels + "ksp_max_it", "1"},
            {levels + "pc_type", ranks == 1 ? PCILU : shared_incomplete(iteration)}};
  if (iteration.by == Preconditioning::incomplete_filled && ranks > 1)
    return {{"-" + prefix + "sub_pc_factor_levels", std::to_string(levels_of(iteration))}};
  return {};
}

const std::vector<std::string>& parts_of_preconditioners() {
  static const std::vector<std::string> parts = {"mg_",     "pc_mg_",     "pc_gamg_",  "sub_",
                                                 "pc_asm_", "pc_factor_", "redundant_"};
  return parts;
}

}  // namespace hindsight
