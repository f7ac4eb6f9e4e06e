#include "solvers/steppers/implicit/petsc/linear_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/error.hpp"
#include "solvers/steppers/implicit/petsc/matrix_parts.hpp"
#include "solvers/steppers/implicit/petsc/preconditioner_parts.hpp"
#include "solvers/steppers/implicit/petsc/solver_advice.hpp"

namespace hindsight {
namespace {

/// Rows that are solved by factors: per rank, where every iteration makes them; of all ranks together, each with
/// factors of its own, where they are made once.
constexpr double most_refactored = 4000, most_factored = 600'000, most_factored_3d = 20'000;
/// What iterations leave of a linear system: of one that is to be solved, and of one of Newton's, whose next iteration
/// goes on from there.
constexpr double linear_tolerance = 1e-12;
/// Times the right-hand side, what an iteration may have left on its way: with a preconditioner that is almost exact
/// (a tiny step), BiCGStab's first guess may be bad before its second is right.
constexpr double never_diverged = 1e300;
/// Of the right-hand side, what may be left of a linear system: at least, and times the tolerance, which preconditioned
/// norms are held to.
constexpr double most_left = 1e-9, most_beside_tolerance = 1e3;
constexpr double loosest = 0.5;  // a tolerance that still solves something

/// The entries of a matrix by their absolute values, while it lives; solvers do not see that they had others.
class AbsoluteEntries {
 public:
  /// @param negative room for a bit per entry; outlives it.
  AbsoluteEntries(Mat matrix, CountedVector<std::uint64_t>& negative) : parts_(parts_of(matrix)), negative_(negative) {
    std::ranges::fill(negative_, 0);
    change([&](double& value, std::size_t i) {
      if (!std::signbit(value)) return;
      negative_[i / 64] |= std::uint64_t{1} << (i % 64);
      value = -value;
    });
  }
  ~AbsoluteEntries() {
    change([&](double& value, std::size_t i) {
      if ((negative_[i / 64] >> (i % 64) & 1U) != 0) value = -value;
    });
  }
  AbsoluteEntries(const AbsoluteEntries&) = delete;
  AbsoluteEntries& operator=(const AbsoluteEntries&) = delete;

  static std::size_t count(Mat matrix) {
    const MatrixParts parts = parts_of(matrix);
    return entries(parts.own) + entries(parts.others);
  }

 private:
  static std::size_t entries(Mat part) {
    MatInfo info{};
    if (part != nullptr) check_petsc(MatGetInfo(part, MAT_LOCAL, &info), "look at a matrix");
    return static_cast<std::size_t>(info.nz_used);
  }
  template <class Change>
  void change(const Change& each) {
    std::size_t first = 0;
    for (Mat part : {parts_.own, parts_.others}) {
      if (part == nullptr) continue;
      const double* values = nullptr;
      MatSeqAIJGetArrayRead(part, &values);  // with another call it would count as changed, and factors as outdated
      const std::size_t own = entries(part);
      for (std::size_t i = 0; i < own; ++i) each(const_cast<double&>(values[i]), first + i);
      MatSeqAIJRestoreArrayRead(part, &values);
      first += own;
    }
  }

  MatrixParts parts_;
  CountedVector<std::uint64_t>& negative_;
};

}  // namespace

void require_success(const PetscErrors& errors, PetscErrorCode code, const char* what, const PetscOptions& options,
                     bool is_warm) {
  if (code == 0) return;
  if (code == PETSC_ERR_MEM || options.empty() || is_warm) errors.check(code, what);
  errors.check_options(code, options.origin(), options.text());
}

LinearSolver::~LinearSolver() {
  for (Vec* const vector : {&left_, &sizes_, &terms_}) VecDestroy(vector);
}

void LinearSolver::prepare(KSP ksp, const Communicator& comm, int dimensions) {
  ksp_ = ksp;
  comm_ = &comm;
  dimensions_ = dimensions;
  check_petsc(MatCreateVecs(matrix_.get(), nullptr, &left_), "make vectors");
  PC pc = nullptr;
  check_petsc(KSPGetPC(ksp_, &pc), "make a solver");
  check_petsc(PCSetType(pc, comm.size() > 1 ? PCREDUNDANT : PCLU), "make a solver");  // until the matrix is known
  PetscBool is_given = PETSC_FALSE;
  PetscOptionsHasName(nullptr, prefix_.c_str() + 1, "-ksp_rtol", &is_given);
  has_given_tolerance_ = is_given == PETSC_TRUE;
}

bool LinearSolver::choose() {
  if (is_chosen_) return false;
  const double ranks = comm_->size(), rows = comm_->max(static_cast<double>(matrix_.rows()));
  const double most = dimensions_ == 3 ? most_factored_3d : most_factored;
  const bool is_direct = rows <= most_refactored || (entries_.is_fixed() && rows * ranks * ranks <= most);
  if (is_direct ? !choose_factors() : !choose_iteration()) return false;
  const PetscErrors errors;
  const DefaultOptions found(defaults());
  errors.check_options(KSPSetFromOptions(ksp_), options_.origin(), options_.text());
  PC pc = nullptr;
  check_petsc(KSPGetPC(ksp_, &pc), "choose a linear solver");
  // Of matrices before; nothing where it is no such preconditioner.
  check_petsc(PCGAMGSetReuseInterpolation(pc, PETSC_FALSE), "choose a linear solver");
  if (type_of(pc) == PCCOMPOSITE)
    for (PC const part : parts_of(pc))
      check_petsc(PCGAMGSetReuseInterpolation(part, PETSC_FALSE), "choose a linear solver");
  if (only_largest_) check_petsc(KSPSetErrorIfNotConverged(ksp_, PETSC_FALSE), "choose a linear solver");
  is_new_ = true;
  is_chosen_ = is_direct && !entries_.is_fixed();  // others are symmetric or not by parameters' values
  return true;
}

/// On several ranks each of them factors the whole system, as one alone does. @returns whether they are others than
/// before.
bool LinearSolver::choose_factors() {
  const bool are_symmetric = !only_largest_ && entries_.is_fixed() && hindsight::is_symmetric(matrix_.get());
  if (has_symmetric_factors_ == are_symmetric) return false;
  has_symmetric_factors_ = are_symmetric;
  make_room_to_look();
  PC pc = nullptr;
  set_limits(linear_tolerance);
  check_petsc(KSPSetType(ksp_, KSPPREONLY), "choose a linear solver");
  check_petsc(KSPGetPC(ksp_, &pc), "choose a linear solver");
  if (comm_->size() > 1) {
    KSP whole = nullptr;
    check_petsc(PCSetType(pc, PCREDUNDANT), "choose a linear solver");
    check_petsc(PCRedundantGetKSP(pc, &whole), "choose a linear solver");
    check_petsc(KSPGetPC(whole, &pc), "choose a linear solver");
  }
  check_petsc(PCSetType(pc, are_symmetric ? PCCHOLESKY : PCLU), "choose a linear solver");
  return true;
}

/// @returns whether that is another than before.
bool LinearSolver::choose_iteration() {
  std::vector<bool> constrained;
  for (const SystemVariable& variable : entries_.variables()) constrained.push_back(variable.mass == 0.0);
  LinearIteration iteration = iteration_for(matrix_.get(), entries_.is_fixed(), constrained);
  if (only_largest_) iteration = largest(iteration);
  if (iteration_ == iteration) return false;
  iteration_ = iteration;
  make_room_to_look();
  set_limits(loosest_aim);
  set_iteration(ksp_, iteration);
  if (defaults_) begin();  // PETSc may be about to set it up
  return true;
}

void LinearSolver::set_limits(double relative) {
  const int iterations = only_largest_ ? 2 : 1000;
  check_petsc(KSPSetTolerances(ksp_, relative, 1e-300, never_diverged, iterations), "choose a linear solver");
}

LinearIteration LinearSolver::largest(LinearIteration iteration) const {
  const auto constraints = std::ranges::count(entries_.variables(), 0.0, &SystemVariable::mass);
  return {false, constraints > 1 ? iteration.by : Preconditioning::multigrid};
}

bool LinearSolver::choose_largest(bool wanted) {
  seems_symmetric_ = wanted && is_symmetric();
  only_largest_ = wanted;
  return iteration_ ? *iteration_ != largest(*iteration_) : has_symmetric_factors_.value_or(false);
}

/// Multigrid inside of other preconditioners is that of the matrix at hand, as outside of them. Nothing that stays is
/// made while stepping.
DefaultOptions::Options LinearSolver::defaults() const {
  DefaultOptions::Options all;
  if (iteration_) all = options_of(*iteration_, prefix_.substr(1), comm_->size());
  all.emplace_back(prefix_ + "ksp_gmres_preallocate", "true");
  const std::string type = "pc_type", reuse = "_reuse_interpolation";
  for (const std::string& name : given_options())
    if (name.starts_with(prefix_) && name.ends_with(type))
      for (const std::string multigrid : {"pc_gamg", "pc_hmg"})
        all.emplace_back(name.substr(0, name.size() - type.size()) + multigrid + reuse, "false");
  return all;
}

bool LinearSolver::is_symmetric() const {
  return seems_symmetric_ || has_symmetric_factors_.value_or(false) || (iteration_ && iteration_->is_symmetric);
}

double LinearSolver::tolerance() const {
  KSPType type = nullptr;
  PetscReal relative = 0.0;
  KSPGetType(ksp_, &type);
  KSPGetTolerances(ksp_, &relative, nullptr, nullptr, nullptr);
  return std::string(type) == KSPPREONLY ? 0.0 : relative;
}

void LinearSolver::aim(double relative) {
  if (is_iteration() && !has_given_tolerance_) set_tolerance(relative);
}

void LinearSolver::set_tolerance(double relative) {
  KSPSetTolerances(ksp_, relative, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT);
}

/// Where each process factors all of it (PCREDUNDANT), PETSc never forgets that factors of a matrix before have failed.
void LinearSolver::matrix_changed() {
  is_proved_ = {};
  PC pc = nullptr;
  KSPGetPC(ksp_, &pc);
  PCSetFailedReason(pc, PC_NOERROR);
}

std::string LinearSolver::solve(Vec b, Vec x, bool is_transposed, const SystemRows& rows) {
  run(b, x, is_transposed && !is_symmetric());
  std::string failure = judge(is_transposed, b, x, rows);
  const bool is_known = is_proved_[is_transposed ? 1 : 0] && tolerance() == 0.0;
  return failure.empty() && !is_known ? prove(is_transposed, b, x, rows) : failure;
}

/// In general PETSc would say so in the middle of a solve, which its solvers do not survive. Some know it once they are
/// set up.
void LinearSolver::require_transpose() {
  const PetscErrors errors;
  const PetscErrorCode code = KSPSetUp(ksp_);
  is_broken_ = is_broken_ || code != 0;
  require_success(errors, code, "solve a linear system", options_, is_warm_);
  PC pc = nullptr;
  PetscBool has_transpose = PETSC_TRUE;
  check_petsc(KSPGetPC(ksp_, &pc), "look at a solver");
  check_petsc(PCApplyTransposeExists(pc, &has_transpose), "look at a solver");
  if (has_transpose == PETSC_FALSE)
    throw InputError(
        fmt::format("{} \"{}\": the preconditioner '{}' has no transpose in PETSc, and gradients need that; {}",
                    options_.origin(), options_.text(), type_of(pc), advice_on(ksp_, prefix_)));
}

void LinearSolver::run(Vec b, Vec x, bool is_transposed) {
  const bool is_within_newton = defaults_.has_value();
  if (!is_within_newton) begin();
  const Ended ended(is_within_newton ? nullptr : this);
  if (!is_new_) forget_reuse();
  if (is_transposed) require_transpose();
  const PetscErrors errors;
  const double usual = tolerance(), precise = has_given_tolerance_ ? usual : linear_tolerance;
  const bool changes = is_iteration();
  if (changes) set_tolerance(looser_ == 1.0 ? precise : std::min(looser_ * precise, loosest));
  solved_to_ = tolerance();
  const PetscErrorCode code = is_transposed ? KSPSolveTranspose(ksp_, b, x) : KSPSolve(ksp_, b, x);
  is_broken_ = is_broken_ || code != 0;
  require_success(errors, code, "solve a linear system", options_, is_warm_);
  if (changes) set_tolerance(usual);
  is_new_ = false;
}

/// What a stage's iterations have shared is made anew where the matrix is another; some preconditioners have told those
/// inside of them to keep theirs.
void LinearSolver::forget_reuse() const {
  const PetscErrors errors;  // of what was never set up: there is nothing in it then
  PC pc = nullptr;
  KSPGetPC(ksp_, &pc);
  KSPSetReusePreconditioner(ksp_, PETSC_FALSE);
  std::vector<PC> all = {pc};
  while (!all.empty()) {
    PC const part = all.back();
    all.pop_back();
    if (part == nullptr) continue;
    PCSetReusePreconditioner(part, PETSC_FALSE);
    const std::vector<PC> inside = parts_of(part);
    all.insert(all.end(), inside.begin(), inside.end());
  }
}

/// By what the solver says of itself.
std::string LinearSolver::judge(bool is_transposed, Vec b, Vec x, const SystemRows& rows) const {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt iterations = 0;
  KSPGetConvergedReason(ksp_, &reason);
  KSPGetIterationNumber(ksp_, &iterations);
  if (reason >= 0 || reason == KSP_DIVERGED_NANORINF) return "";
  const char* const which = is_transposed ? "the transposed linear system" : "the linear system";
  if (reason == KSP_DIVERGED_PC_FAILED)
    return fmt::format("{} is not solved: {}; {}", which,
                       makes_factors(preconditioner_of(ksp_))
                           ? "the matrix of the step is singular (a pivot of its factors is zero)"
                           : "its preconditioner cannot be made",
                       advice_on(ksp_, prefix_));
  return fmt::format("PETSc's linear solver (KSP) gave up after {} iterations of {}: {}{}; {}", iterations, which,
                     KSPConvergedReasons[reason], is_transposed ? "" : worst_of(b, x, rows), advice_on(ksp_, prefix_));
}

/// By what is left.
std::string LinearSolver::prove(bool is_transposed, Vec b, Vec x, const SystemRows& rows) {
  PetscReal all = 0.0, left = 0.0;
  VecNorm(b, NORM_2, &all);
  look_at(b, x, is_transposed);
  VecNorm(left_, NORM_2, &left);
  const double allowed = std::max(most_left, most_beside_tolerance * solved_to_);
  if (!std::isfinite(left)) return "";  // that shows itself
  const bool is_solved = left <= allowed * all || is_rounding(b, x, is_transposed);
  is_proved_[is_transposed ? 1 : 0] = is_solved && all > 0.0;
  if (is_solved) return "";
  return fmt::format("PETSc's solution of {} leaves {:.1e} of the right-hand side, which may be {:.0e}{}: {}; {}",
                     is_transposed ? "the transposed linear system" : "the linear system", left / all, allowed,
                     is_transposed ? "" : worst_of(b, x, rows),
                     is_transposed && !is_symmetric() && left > 1e-3 * all ? "the preconditioner may have no transpose"
                     : tolerance() > 0.0 ? "the iteration measures what is left by another norm"
                                         : "the system is nearly singular",
                     advice_on(ksp_, prefix_));
}

/// What a solution leaves.
void LinearSolver::look_at(Vec b, Vec x, bool is_transposed) const {
  Mat seen = nullptr;
  KSPGetOperators(ksp_, &seen, nullptr);
  check_petsc(is_transposed ? MatMultTranspose(seen, x, left_) : MatMult(seen, x, left_), "look at a solution");
  VecAXPY(left_, -1.0, b);
}

/// Whether what is left (look_at()) is no more than rounding, row by row, beside the terms that cancel there: where
/// fields are of very different size, that may be large beside the right-hand side (Oettli and Prager, 1964).
bool LinearSolver::is_rounding(Vec b, Vec x, bool is_transposed) {
  constexpr double rounding = 1e-12;
  make_room_to_look();
  VecCopy(x, sizes_);
  VecAbs(sizes_);
  {
    const AbsoluteEntries absolute(matrix_.get(), negative_);
    check_petsc(
        is_transposed ? MatMultTranspose(matrix_.get(), sizes_, terms_) : MatMult(matrix_.get(), sizes_, terms_),
        "look at a solution");
  }
  VecCopy(b, sizes_);
  VecAbs(sizes_);
  VecAXPY(terms_, 1.0, sizes_);
  VecAbs(left_);
  VecAXPY(left_, -rounding, terms_);
  PetscReal largest = 0.0;
  VecMax(left_, nullptr, &largest);
  return largest <= 0.0;
}

/// Once, for is_rounding().
void LinearSolver::make_room_to_look() {
  if (terms_ != nullptr) return;
  check_petsc(VecDuplicate(left_, &sizes_), "look at a solution");
  check_petsc(VecDuplicate(left_, &terms_), "look at a solution");
  negative_.resize((AbsoluteEntries::count(matrix_.get()) + 63) / 64);
}

/// Where it leaves most, for messages.
std::string LinearSolver::worst_of(Vec b, Vec x, const SystemRows& rows) const {
  look_at(b, x, false);
  const std::string worst = worst_row(rows, left_, x);
  return worst.empty() ? "" : ", most in " + worst;
}

}  // namespace hindsight
