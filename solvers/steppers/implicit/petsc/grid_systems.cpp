#include "solvers/steppers/implicit/petsc/grid_systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

/// Of options.
constexpr const char* prefix = "-step_";
/// Rows that are solved by factors: per rank, where every iteration makes them; of all ranks together, each with
/// factors of its own, where they are made once.
constexpr double most_refactored = 4000, most_factored = 600'000, most_factored_3d = 20'000;
/// What iterations leave of a linear system: of one that is to be solved, and of one of Newton's, whose next iteration
/// goes on from there.
constexpr double linear_tolerance = 1e-12, newton_tolerance = 1e-5;
constexpr const char* advice =
    "options that may help: -step_pc_type lu, -step_ksp_type gmres, -step_ksp_max_it, -step_ksp_monitor";
/// Of the right-hand side, what may be left of a linear system.
constexpr double most_left = 1e-9;

}  // namespace

GridSystems::GridSystems(const Model& model, const Active& active, ModelOperators& operators, std::string options)
    : model_(model),
      operators_(operators),
      options_(std::move(options)),
      entries_(model, active),
      matrix_(model, entries_) {}

GridSystems::~GridSystems() {
  clear_options(options_, prefix);
  SNESDestroy(&snes_);
  VecDestroy(&x_);
  VecDestroy(&rest_);
  VecDestroy(&left_);
}

void GridSystems::prepare(const Grid& grid, Tables& tables, bool /*factors*/) {
  entries_.prepare(grid, tables);
  const Layout& layout = grid.layout();
  field_stride_ = layout.field_stride;
  const Index3& cells = grid.cells();
  for (std::int64_t k = 0; k < cells[2]; ++k)
    for (std::int64_t j = 0; j < cells[1]; ++j)
      for (std::int64_t i = 0; i < cells[0]; ++i) places_.push_back(layout.at(i, j, k));
  matrix_.prepare(grid, places_);
  set_options(options_, "petsc:");
  make_solvers(grid);
}

/// Misspelt ones, or of other solvers.
void GridSystems::require_used_options() const {
  std::vector<std::string> unused;
  for (const std::string& name : unused_options(options_))
    if (name.starts_with(prefix)) unused.push_back(name);
  if (!unused.empty())
    throw InputError("petsc: no solver of implicit steps reads " + join(unused) +
                     "; -step_snes_view shows which solvers there are");
}

void GridSystems::make_solvers(const Grid& grid) {
  comm_ = &grid.communicator();
  check_petsc(MatCreateVecs(matrix_.get(), &x_, &rest_), "make vectors");
  check_petsc(VecDuplicate(rest_, &left_), "make vectors");
  check_petsc(SNESCreate(grid.communicator().handle(), &snes_), "make a solver");
  check_petsc(SNESSetOptionsPrefix(snes_, prefix + 1), "make a solver");
  check_petsc(SNESSetFunction(snes_, rest_, residual, this), "make a solver");
  check_petsc(SNESSetJacobian(snes_, matrix_.get(), matrix_.get(), jacobian, this), "make a solver");
  check_petsc(SNESSetConvergenceTest(snes_, judge, this, nullptr), "make a solver");
  SNESLineSearch search = nullptr;
  check_petsc(SNESGetLineSearch(snes_, &search), "make a solver");
  check_petsc(SNESLineSearchSetType(search, SNESLINESEARCHBASIC),
              "make a solver");  // others see the largest field alone
  check_petsc(SNESGetKSP(snes_, &ksp_), "make a solver");
}

/// From the equations and the matrix alone: a process that goes on chooses the same.
void GridSystems::choose_linear_solver() {
  const double ranks = comm_->size(), rows = comm_->max(static_cast<double>(matrix_.rows()));
  const double most = model_.dimensions == 3 ? most_factored_3d : most_factored;
  const bool is_direct = rows <= most_refactored || (entries_.is_fixed() && rows * ranks * ranks <= most);
  if (is_direct)
    choose_factors();
  else if (!choose_iteration())
    return;
  const PetscErrors errors;
  if (SNESSetFromOptions(snes_) != 0)
    throw InputError("petsc: \"" + options_ + "\": PETSc refuses it: " + errors.first());
  is_chosen_ = is_direct;
}

/// On several ranks each of them factors the whole system.
void GridSystems::choose_factors() {
  PC pc = nullptr;
  check_petsc(KSPSetTolerances(ksp_, linear_tolerance, 1e-300, PETSC_DEFAULT, 1000), "choose a linear solver");
  check_petsc(KSPSetType(ksp_, KSPPREONLY), "choose a linear solver");
  check_petsc(KSPGetPC(ksp_, &pc), "choose a linear solver");
  if (comm_->size() > 1) {
    check_petsc(PCSetType(pc, PCREDUNDANT), "choose a linear solver");
    return;
  }
  check_petsc(PCSetType(pc, entries_.is_fixed() && is_symmetric(matrix_.get()) ? PCCHOLESKY : PCLU),
              "choose a linear solver");
}

/// @returns whether that is another than before.
bool GridSystems::choose_iteration() {
  const LinearIteration iteration = iteration_for(matrix_.get(), entries_.is_fixed());
  if (iteration_ == iteration) return false;
  iteration_ = iteration;
  check_petsc(KSPSetTolerances(ksp_, newton_tolerance, 1e-300, PETSC_DEFAULT, 1000), "choose a linear solver");
  set_iteration(ksp_, iteration);
  // Multigrid takes long to set up: the iterations of a stage share the first one's.
  constexpr PetscInt whole_stage = 1000;
  check_petsc(SNESSetLagPreconditioner(snes_, iteration.by == Preconditioning::multigrid ? whole_stage : 1),
              "choose a linear solver");
  check_petsc(SNESSetLagPreconditionerPersists(snes_, PETSC_FALSE), "choose a linear solver");
  return true;
}

DefaultOptions::Options GridSystems::options_of_iteration() const {
  return iteration_ ? options_of(*iteration_, prefix + 1, comm_->size()) : DefaultOptions::Options{};
}

void GridSystems::give(const double* block, Vec to) const {
  double* x = nullptr;
  VecGetArrayWrite(to, &x);
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  for (const std::int64_t place : places_)
    for (std::int64_t f = 0; f < fields; ++f) *x++ = block[place + f * field_stride_];
  VecRestoreArrayWrite(to, &x);
}

void GridSystems::take(Vec from, double* block) const {
  const double* x = nullptr;
  VecGetArrayRead(from, &x);
  const double* next = x;
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  for (const std::int64_t place : places_)
    for (std::int64_t f = 0; f < fields; ++f) block[place + f * field_stride_] = *next++;
  VecRestoreArrayRead(from, &x);
}

/// With J at stage.y.
void GridSystems::assemble(const Stage& stage, bool needs_slope) {
  const bool is_known = is_current_ && entries_.is_fixed();
  if (!is_known || needs_slope) entries_.evaluate(stage.tables, stage.series, stage.at, stage.y, stage.slope);
  if (is_known && stage.a == a_) return;
  matrix_.assemble(stage.a);
  is_proved_ = {};
  if (!is_chosen_) choose_linear_solver();
  check_petsc(KSPSetOperators(ksp_, matrix_.get(), matrix_.get()), "set a matrix");
  a_ = stage.a;
  is_current_ = true;
}

void GridSystems::linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                            bool needs_slope) {
  assemble({tables, series, at, a, nullptr, u, slope}, needs_slope);
}

void GridSystems::solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base,
                              double* y, double* slope) {
  const Stage stage{tables, series, at, a, base, y, slope};
  if (entries_.is_linear())
    correct(stage);
  else
    iterate(stage);
}

/// One linear solve for what y lacks.
void GridSystems::correct(const Stage& stage) {
  assemble(stage, true);
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  double* x = nullptr;
  VecGetArrayWrite(rest_, &x);
  double* next = x;
  for (const std::int64_t place : places_)
    for (std::int64_t i = place; i < place + fields * field_stride_; i += field_stride_)
      *next++ = stage.base[i] + stage.a * stage.slope[i] - stage.y[i];
  VecRestoreArrayWrite(rest_, &x);
  const std::string failure = solve_linear(false);
  const double* change = nullptr;
  VecGetArrayRead(x_, &change);
  const double* each = change;
  for (const std::int64_t place : places_)
    for (std::int64_t i = place; i < place + fields * field_stride_; i += field_stride_) stage.y[i] += *each++;
  VecRestoreArrayRead(x_, &change);
  if (!failure.empty()) fail(failure, stage.y);
}

void GridSystems::iterate(const Stage& stage) {
  stage_ = &stage;
  give(stage.y, x_);
  rests_.clear();
  const DefaultOptions defaults(options_of_iteration());
  const PetscErrors errors;
  errors.check(SNESSolve(snes_, nullptr, x_), "solve a stage");
  if (!std::exchange(is_used_, true)) require_used_options();
  take(x_, stage.y);
  stage_ = nullptr;
  SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
  SNESGetConvergedReason(snes_, &reason);
  if (reason >= 0 && reason != SNES_CONVERGED_ITS) return;  // that is said by solvers that did not look
  std::string rests;
  for (const double rest : rests_) rests += fmt::format("{}{:.1e}", rests.empty() ? "" : ", ", rest);
  fail(fmt::format("Newton's method (SNES) found no solution ({}); what its iterations left of the equations: {}; "
                   "options that may help: -step_snes_linesearch_type bt, -step_snes_max_it, -step_snes_monitor",
                   SNESConvergedReasons[reason], rests.empty() ? "no number" : rests),
       stage.y);
}

/// f = y - base - a F(y)
PetscErrorCode GridSystems::residual(SNES /*snes*/, Vec x, Vec f, void* self) {
  const auto& systems = *static_cast<const GridSystems*>(self);
  const Stage& stage = *systems.stage_;
  systems.take(x, stage.y);
  systems.operators_.rhs(stage.tables, stage.at, stage.y, stage.slope);
  double* rest = nullptr;
  VecGetArrayWrite(f, &rest);
  double* next = rest;
  const std::int64_t stride = systems.field_stride_, all = stride * std::ssize(systems.model_.fields);
  for (const std::int64_t place : systems.places_)
    for (std::int64_t i = place; i < place + all; i += stride)
      *next++ = stage.y[i] - stage.base[i] - stage.a * stage.slope[i];
  VecRestoreArrayWrite(f, &rest);
  return 0;
}

PetscErrorCode GridSystems::jacobian(SNES /*snes*/, Vec x, Mat /*a*/, Mat /*p*/, void* self) {
  auto& systems = *static_cast<GridSystems*>(self);
  systems.take(x, systems.stage_->y);
  systems.assemble(*systems.stage_, false);
  return 0;
}

/// The largest change of a field, by the largest value of that field.
double GridSystems::largest_change(Vec x, Vec step) const {
  const std::size_t fields = model_.fields.size();
  std::vector<double> largest(2 * fields, 0.0);  // changes, then values
  const double *change = nullptr, *value = nullptr;
  VecGetArrayRead(step, &change);
  VecGetArrayRead(x, &value);
  for (std::size_t i = 0; i < places_.size() * fields; ++i) {
    const std::size_t f = i % fields;
    const double base = stage_->base[places_[i / fields] + static_cast<std::int64_t>(f) * field_stride_];
    largest[f] = std::max(largest[f], std::fabs(change[i]));
    largest[fields + f] = std::max({largest[fields + f], std::fabs(value[i]), std::fabs(base)});
  }
  VecRestoreArrayRead(step, &change);
  VecRestoreArrayRead(x, &value);
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(largest.size()), MPI_DOUBLE, MPI_MAX, comm_->handle());
  double found = 0.0;
  for (std::size_t f = 0; f < fields; ++f)
    if (largest[f] > 0.0) found = std::max(found, largest[f] / largest[fields + f]);
  return found;
}

/// As StageSolver judges, field by field; but where linear systems are solved by iterations, errors fall as far as
/// those go, and no further.
PetscErrorCode GridSystems::judge(SNES snes, PetscInt iteration, PetscReal /*x*/, PetscReal /*change*/, PetscReal rest,
                                  SNESConvergedReason* reason, void* self) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  auto& systems = *static_cast<GridSystems*>(self);
  systems.rests_.push_back(rest);
  *reason = SNES_CONVERGED_ITERATING;
  if (!std::isfinite(rest)) *reason = SNES_DIVERGED_FNORM_NAN;
  if (iteration == 0 || !std::isfinite(rest)) return 0;
  Vec x = nullptr, step = nullptr;
  SNESGetSolution(snes, &x);
  SNESGetSolutionUpdate(snes, &step);
  const double now = systems.largest_change(x, step), ratio = now / std::exchange(systems.change_before_, now);
  const double left = systems.iteration_ ? 0.1 * std::max(ratio, newton_tolerance) * now : 10.0 * ratio * ratio * now;
  const bool is_found =
      now <= 2 * eps || (iteration > 1 && ((now < 1e-4 && left <= eps) || (now < 1e-9 && ratio > 0.1)));
  if (is_found) *reason = SNES_CONVERGED_SNORM_RELATIVE;
  return 0;
}

/// Of iterations; what options say stays.
void GridSystems::change_tolerance(double from, double to) {
  PetscReal now = 0.0;
  KSPGetTolerances(ksp_, &now, nullptr, nullptr, nullptr);
  if (iteration_ && now == from) KSPSetTolerances(ksp_, to, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT);
}

/// Solves for x_ with the right-hand side rest_. @returns why that failed; empty: it did not.
std::string GridSystems::solve_linear(bool is_transposed) {
  const DefaultOptions defaults(options_of_iteration());
  const PetscErrors errors;
  KSPSetReusePreconditioner(ksp_, PETSC_FALSE);
  change_tolerance(newton_tolerance, linear_tolerance);
  errors.check(is_transposed ? KSPSolveTranspose(ksp_, rest_, x_) : KSPSolve(ksp_, rest_, x_), "solve a linear system");
  change_tolerance(linear_tolerance, newton_tolerance);
  if (!std::exchange(is_used_, true)) require_used_options();
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt iterations = 0;
  KSPGetConvergedReason(ksp_, &reason);
  KSPGetIterationNumber(ksp_, &iterations);
  const char* const which = is_transposed ? "the transposed linear system" : "the linear system";
  if (reason < 0 && reason != KSP_DIVERGED_NANORINF)
    return fmt::format("PETSc's linear solver (KSP) gave up after {} iterations of {}: {}; {}", iterations, which,
                       KSPConvergedReasons[reason], advice);
  bool& is_proved = is_proved_[is_transposed ? 1 : 0];
  if (is_proved && !iteration_) return "";
  PetscReal all = 0.0, left = 0.0;
  VecNorm(rest_, NORM_2, &all);
  check_petsc(is_transposed ? MatMultTranspose(matrix_.get(), x_, left_) : MatMult(matrix_.get(), x_, left_),
              "look at a solution");
  VecAXPY(left_, -1.0, rest_);
  VecNorm(left_, NORM_2, &left);
  if (!std::isfinite(left)) return "";  // that shows itself
  is_proved = left <= most_left * all && all > 0.0;
  if (left <= most_left * all) return "";
  return fmt::format(
      "PETSc's solution of {} leaves {:.1e} of the right-hand side, which may be {:.0e}: {}; {}", which, left / all,
      most_left, is_transposed ? "the preconditioner may have no transpose" : "the system is nearly singular", advice);
}

void GridSystems::solve_linear(double* x, bool is_transposed) {
  give(x, rest_);
  const std::string failure = solve_linear(is_transposed);
  take(x_, x);
  if (failure.empty()) return;
  if (is_transposed) throw NumericsError("a step backward failed: " + failure);
  fail(failure, x);
}

void GridSystems::solve(double* x) {
  solve_linear(x, false);
}

void GridSystems::solve_transposed(double* x) {
  solve_linear(x, true);
}

void GridSystems::fail(std::string why, double* y) {
  if (failure_.empty()) failure_ = std::move(why);
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  for (const std::int64_t place : places_)
    for (std::int64_t f = 0; f < fields; ++f) y[place + f * field_stride_] = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace hindsight
