#include "solvers/steppers/implicit/petsc/grid_systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/steppers/implicit/petsc/other_packages.hpp"
#include "solvers/steppers/implicit/petsc/preconditioner_parts.hpp"
#include "solvers/steppers/implicit/petsc/refused_options.hpp"
#include "solvers/steppers/implicit/petsc/solver_advice.hpp"
#include "solvers/steppers/implicit/petsc/term_sizes.hpp"

namespace hindsight {
namespace {

/// Of stages that Newton's method finds by iterations: relative errors in the end.
constexpr double most_left = 1e-14;

}  // namespace

GridSystems::GridSystems(const Model& model, const Active& active, ModelOperators& operators, SystemWants wants)
    : model_(model),
      operators_(operators),
      options_(std::move(wants.petsc)),
      prefix_("-" + wants.prefix),
      changes_(wants.changes),
      entries_(model, active, std::move(wants.variables), wants.prefix),
      matrix_(model, entries_),
      linear_(options_, prefix_, matrix_, entries_),
      sizes_(model.fields.size(), 0.0) {}

GridSystems::~GridSystems() {
  if (!is_broken()) SNESDestroy(&snes_);
  VecDestroy(&x_);
  VecDestroy(&residual_);
}

void GridSystems::prepare(const Grid& grid, Tables& tables, const CountedVector<std::int64_t>& places,
                          bool /*factors*/) {
  entries_.prepare(grid, tables);
  account_ = CountMemory::current();
  grid_ = &grid;
  places_ = &places;
  for (const SystemVariable& variable : entries_.variables())
    offsets_.push_back(grid.layout().field_stride * static_cast<std::int64_t>(variable.field));
  matrix_.prepare(grid, places);
  free_.prepare(grid, matrix_);
  given_.emplace(options_.text(), options_.origin());
  refuse_options(options_, prefix_);
  make_solvers(grid);
}

/// Misspelt ones, or of other solvers. Where the preconditioner follows from the matrix, those of its parts may be read
/// in other steps, or on other numbers of ranks.
void GridSystems::require_used_options() const {
  PetscBool has_given = PETSC_FALSE;
  PetscOptionsHasName(nullptr, prefix_.c_str() + 1, "-pc_type", &has_given);
  const auto is_of_part = [&](const std::string& name) {
    return has_given == PETSC_FALSE && std::ranges::any_of(parts_of_preconditioners(), [&](const std::string& part) {
             return name.starts_with(prefix_ + part);
           });
  };
  std::vector<std::string> unused;
  for (const std::string& name : unused_options(options_.text()))
    if (name.starts_with(prefix_) && !is_of_part(name)) unused.push_back(name);
  if (!unused.empty())
    throw InputError(options_.origin(unused.front()) + " no solver of implicit steps reads " + join(unused) + "; " +
                     prefix_ + (entries_.is_linear() ? "ksp_view" : "snes_view") + " shows which solvers there are");
}

void GridSystems::make_solvers(const Grid& grid) {
  check_petsc(MatCreateVecs(matrix_.get(), &x_, &residual_), "make vectors");
  check_petsc(SNESCreate(grid.communicator().handle(), &snes_), "make a solver");
  check_petsc(SNESSetOptionsPrefix(snes_, prefix_.c_str() + 1), "make a solver");
  check_petsc(SNESSetFunction(snes_, residual_, residual, this), "make a solver");
  check_petsc(SNESSetJacobian(snes_, matrix_.get(), matrix_.get(), jacobian, this), "make a solver");
  check_petsc(SNESSetConvergenceTest(snes_, judge, this, nullptr), "make a solver");
  SNESLineSearch search = nullptr;
  check_petsc(SNESGetLineSearch(snes_, &search), "make a solver");
  check_petsc(SNESLineSearchSetType(search, SNESLINESEARCHBASIC),
              "make a solver");  // others see the largest field alone
  check_petsc(SNESSetLagPreconditionerPersists(snes_, PETSC_FALSE), "make a solver");
  KSP ksp = nullptr;
  check_petsc(SNESGetKSP(snes_, &ksp), "make a solver");
  check_petsc(KSPSetPreSolve(ksp, project, this), "make a solver");
  check_petsc(KSPSetPostSolve(ksp, balance, this), "make a solver");
  linear_.prepare(ksp, comm(), model_.dimensions);
  const PetscErrors errors;
  errors.check_options(SNESSetFromOptions(snes_), options_.origin(),
                       options_.text());  // here alone: it may make another line search
}

/// A preconditioner takes long to set up, and serves the iterations of a stage almost as well as their own would.
void GridSystems::share_preconditioner() {
  constexpr PetscInt whole_stage = 1000;
  PetscBool is_given = PETSC_FALSE;
  PetscOptionsHasName(nullptr, prefix_.c_str() + 1, "-snes_lag_preconditioner", &is_given);
  if (is_given == PETSC_FALSE)
    check_petsc(SNESSetLagPreconditioner(snes_, linear_.is_iteration() ? whole_stage : 1), "choose a linear solver");
}

/// Calls visit(row, place in a block, mass).
template <class Visit>
void GridSystems::at_every_row(Visit visit) const {
  std::size_t row = 0;
  for (const std::int64_t place : *places_)
    for (std::size_t v = 0; v < offsets_.size(); ++v) visit(row++, place + offsets_[v], entries_.variables()[v].mass);
}

void GridSystems::give(const double* block, Vec to) const {
  double* x = nullptr;
  VecGetArrayWrite(to, &x);
  at_every_row([&](std::size_t row, std::int64_t at, double) { x[row] = block[at]; });
  VecRestoreArrayWrite(to, &x);
}

void GridSystems::take(Vec from, double* block) const {
  const double* x = nullptr;
  VecGetArrayRead(from, &x);
  at_every_row([&](std::size_t row, std::int64_t at, double) { block[at] = x[row]; });
  VecRestoreArrayRead(from, &x);
}

/// Of an iterate before.
bool GridSystems::has_preconditioner() const {
  PetscInt iteration = 0;
  if (stage_ != nullptr) SNESGetIterationNumber(snes_, &iteration);
  return iteration > 0;
}

/// With J at stage.y.
void GridSystems::assemble(const Stage& stage, bool needs_slope) {
  const bool is_known = is_current_ && entries_.is_fixed();
  if (!is_known)
    entries_.evaluate(stage.tables, stage.series, stage.at, stage.y, stage.slope);
  else if (needs_slope)
    operators_.rhs(stage.tables, stage.at, stage.y, stage.slope);
  if (is_known && stage.a == a_) return;
  is_current_ = false;
  matrix_.assemble(stage.a);
  a_ = stage.a;
  linear_.matrix_changed();
  if (!has_preconditioner() && linear_.choose()) share_preconditioner();
  hold_constants();
  is_current_ = true;
}

/// Of a matrix that is not finite, no number: steps tell what made it so.
void GridSystems::hold_constants() {
  const bool by_iterations = linear_.tolerance() > 0.0;
  matrix_.hold_constants(by_iterations);
  free_.follow(by_iterations);
  set_operator();
  of_constants_.clear();
  is_balancing_ = false;
  free_.update([this](Vec b, Vec x) {
    if (of_constants_.empty()) of_constants_ = solve_linear(b, x, false);
  });
  is_balancing_ = true;
}

/// What the linear solver multiplies with, beside the matrix that it takes its preconditioner from.
void GridSystems::set_operator() {
  Mat const seen = free_.projected() != nullptr ? free_.projected() : matrix_.get();
  check_petsc(KSPSetOperators(linear_.get(), seen, matrix_.get()), "set a matrix");
  check_petsc(SNESSetJacobian(snes_, seen, matrix_.get(), jacobian, this), "set a matrix");
}

/// Who tries another step, or other values, would not find more.
void GridSystems::require_working() const {
  if (is_broken())
    throw Error(ExitCode::numerics, "PETSc's solver has failed before in a way that it does not go on from");
}

void GridSystems::linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                            bool needs_slope) {
  const CountMemory counted(account_);
  require_working();
  assemble({tables, series, at, a, nullptr, u, slope}, needs_slope);
}

void GridSystems::solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base,
                              double* y, double* slope) {
  const CountMemory counted(account_);
  require_working();
  const Stage stage{tables, series, at, a, base, y, slope};
  if (entries_.is_linear())
    correct(stage);
  else
    iterate(stage);
}

/// sign (M (base - y) + a F(y))
void GridSystems::find_residual(const Stage& stage, double sign, Vec residual) const {
  double* r = nullptr;
  VecGetArrayWrite(residual, &r);
  at_every_row([&](std::size_t row, std::int64_t i, double mass) {
    r[row] = sign * (mass * stage.base[i] + stage.a * stage.slope[i] - mass * stage.y[i]);
  });
  VecRestoreArrayWrite(residual, &r);
}

/// One linear solve for what y lacks.
void GridSystems::correct(const Stage& stage) {
  assemble(stage, true);
  find_residual(stage, 1.0, residual_);
  std::string failure = solve_linear(residual_, x_, false);
  if (free_.is_any()) excess_ = free_.balance(residual_, x_);
  const double* change = nullptr;
  VecGetArrayRead(x_, &change);
  at_every_row([&](std::size_t row, std::int64_t i, double) { stage.y[i] += change[row]; });
  VecRestoreArrayRead(x_, &change);
  if (free_.is_any()) give(stage.y, x_);
  finish(stage, std::move(failure));
}

/// From stage.y.
SNESConvergedReason GridSystems::iterate_newton(const Stage& stage) {
  give(stage.y, x_);
  residual_norms_.clear();
  thrown_ = nullptr;
  has_bad_jacobian_ = false;
  stage_ = &stage;
  linear_.begin();
  const PetscErrors errors;
  const PetscErrorCode code = SNESSolve(snes_, nullptr, x_);
  linear_.end();
  stage_ = nullptr;
  is_broken_ = is_broken_ || code != 0;
  if (thrown_) std::rethrow_exception(thrown_);
  require_success(errors, code, "solve a stage", options_, linear_.is_warm());
  require_budget();
  take(x_, stage.y);
  SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
  SNESGetConvergedReason(snes_, &reason);
  return reason;
}

/// Where the Jacobian of the guess is not finite (sqrt(u) at 0), the iteration begins anew, from base + a F(base).
void GridSystems::iterate(const Stage& stage) {
  SNESConvergedReason reason = iterate_newton(stage);
  if (reason < 0 && has_bad_jacobian_) {
    at_every_row([&](std::size_t, std::int64_t i, double) { stage.y[i] = stage.base[i]; });
    operators_.rhs(stage.tables, stage.at, stage.y, stage.slope);
    at_every_row([&](std::size_t, std::int64_t i, double mass) { stage.y[i] += mass * stage.a * stage.slope[i]; });
    reason = iterate_newton(stage);
  }
  const bool is_found = reason >= 0 && reason != SNES_CONVERGED_ITS;  // that is said by solvers that did not look
  finish(stage, is_found ? "" : failure_.empty() ? failure_of_newton(reason) : failure_);
}

/// Of the last iterate.
std::string GridSystems::failure_of_newton(SNESConvergedReason reason) const {
  std::vector<std::string> norms;
  for (const double norm : residual_norms_) norms.push_back(fmt::format("{:.1e}", norm));
  const std::string derivative = has_bad_jacobian_ ? bad_derivative(rows()) : "";
  const std::string worst = residual_norms_.empty() || !derivative.empty() ? "" : worst_row(rows(), residual_, x_);
  std::string why = SNESConvergedReasons[reason], advice = advice_on(snes_, prefix_);
  if (reason == SNES_DIVERGED_LINEAR_SOLVE) {
    KSPConvergedReason of_linear = KSP_CONVERGED_ITERATING;
    KSPGetConvergedReason(linear_.get(), &of_linear);
    why += fmt::format(": {}", KSPConvergedReasons[of_linear]);
    advice = advice_on(linear_.get(), prefix_);
  }
  return fmt::format("Newton's method (SNES) found no solution ({}); residuals of its iterations: {}{}{}; {}", why,
                     norms.empty() ? "no number" : join_few(norms),
                     worst.empty() ? "" : ", in the end most in " + worst,
                     derivative.empty() ? "" : "; a derivative is not finite, " + derivative, advice);
}

/// Where constants are free, x_ has what stage.y has.
void GridSystems::finish(const Stage& stage, std::string failure) {
  if (free_.is_any() && failure.empty()) {
    failure = imbalance(stage);
    free_.centre(x_);
    take(x_, stage.y);
  }
  if (!failure.empty()) fail(std::move(failure), stage.y);
}

/// Why there is no solution but one of equations that were changed.
std::string GridSystems::imbalance(const Stage& stage) {
  for (std::size_t i = 0; i < excess_.size(); ++i) {
    const std::size_t field = entries_.variables()[static_cast<std::size_t>(matrix_.pinned()[i])].field;
    if (model_.is_balanced(field) || is_rounding(i, field, stage)) continue;
    const std::string& name = model_.fields[field];
    return fmt::format(
        "zero({0}) knows '{0}' by its differences alone (its sides are periodic or have slopes), so that "
        "the integral of its other terms must be zero, and it is {1:.6g}: with zero({0}): {{rhs: "
        "..., balance: true}} what is too much is taken away, the same everywhere",
        name, excess_[i] / stage.a * grid_->cell_volume() * static_cast<double>(grid_->total_cells()));
  }
  return "";
}

/// What a constraint has too much, beside what it is made of: now, or when it was made of more in this sweep, for what
/// has decayed leaves rounding of the size that it had.
bool GridSystems::is_rounding(std::size_t i, std::size_t field, const Stage& stage) {
  constexpr double little = 1e-6, rounding = 1e-10;
  const double a = std::fabs(stage.a), excess = std::fabs(excess_[i]) / a;
  double now = free_.size(i, x_) / a;
  if (excess > little * now) now = std::max(now, size_of_terms(model_, field, *grid_, *places_, stage.tables, stage.y));
  sizes_[field] = std::max(sizes_[field], now);
  return excess <= little * now || excess <= rounding * sizes_[field];
}

/// Runs what PETSc calls, through which exceptions may not pass.
template <class Work>
PetscErrorCode GridSystems::without_throwing(Work work) {
  try {
    work();
    return 0;
  } catch (...) {
    thrown_ = std::current_exception();
    return PETSC_ERR_USER;
  }
}

/// Before each linear solve.
PetscErrorCode GridSystems::project(KSP /*ksp*/, Vec b, Vec /*x*/, void* self) {
  auto& systems = *static_cast<GridSystems*>(self);
  if (systems.free_.projected() == nullptr) return 0;
  return systems.without_throwing([&] { systems.free_.project(b); });
}

/// After each linear solve of SNES.
PetscErrorCode GridSystems::balance(KSP /*ksp*/, Vec b, Vec x, void* self) {
  auto& systems = *static_cast<GridSystems*>(self);
  if (systems.stage_ == nullptr || !systems.is_balancing_ || !systems.free_.is_any()) return 0;
  return systems.without_throwing([&] {
    systems.excess_ = systems.free_.balance(b, x);
    for (double& excess : systems.excess_) excess = -excess;  // of -a G, which b has
  });
}

/// f = M (y - base) - a F(y)
PetscErrorCode GridSystems::residual(SNES /*snes*/, Vec x, Vec f, void* self) {
  auto& systems = *static_cast<GridSystems*>(self);
  const Stage& stage = *systems.stage_;
  return systems.without_throwing([&] {
    systems.take(x, stage.y);
    systems.operators_.rhs(stage.tables, stage.at, stage.y, stage.slope);
    systems.find_residual(stage, -1.0, f);
  });
}

PetscErrorCode GridSystems::jacobian(SNES /*snes*/, Vec x, Mat /*a*/, Mat /*p*/, void* self) {
  auto& systems = *static_cast<GridSystems*>(self);
  return systems.without_throwing([&] {
    systems.take(x, systems.stage_->y);
    systems.assemble(*systems.stage_, false);
    systems.has_bad_jacobian_ = !systems.matrix_.is_finite();
    if (!systems.has_bad_jacobian_) return;
    systems.matrix_.become_identity();  // iterations do not survive what is not finite, and judge() is still to come
    systems.is_current_ = false;
  });
}

/// The largest change of a variable, by the largest value of that variable.
double GridSystems::largest_change(Vec x, Vec step) const {
  const std::size_t variables = offsets_.size();
  std::vector<double> largest(2 * variables, 0.0);  // changes, then values
  const double *change = nullptr, *value = nullptr;
  VecGetArrayRead(step, &change);
  VecGetArrayRead(x, &value);
  at_every_row([&](std::size_t row, std::int64_t i, double) {
    const std::size_t v = row % variables;
    largest[v] = std::max(largest[v], std::fabs(change[row]));
    largest[variables + v] = std::max({largest[variables + v], std::fabs(value[row]), std::fabs(stage_->base[i])});
  });
  VecRestoreArrayRead(step, &change);
  VecRestoreArrayRead(x, &value);
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(largest.size()), MPI_DOUBLE, MPI_MAX, comm().handle());
  double found = 0.0;
  for (std::size_t v = 0; v < variables; ++v)
    if (largest[v] > 0.0) found = std::max(found, largest[v] / largest[variables + v]);
  return found;
}

/// Of the norm of the residual, what is not taken away of constraints that know differences alone.
double GridSystems::without_constants(double norm) {
  if (!free_.is_any() || !linear_.is_iteration()) return norm;
  Vec f = nullptr;
  SNESGetFunction(snes_, &f, nullptr, nullptr);
  double square = norm * norm;
  for (const double mean : free_.means(f)) square -= static_cast<double>(grid_->total_cells()) * mean * mean;
  return std::isnan(square) ? norm : std::sqrt(std::max(square, 0.0));
}

/// As StageSolver judges, field by field; but where linear systems are solved by iterations, errors fall as far as
/// those go, and no further, and what is left in the end is as little as linear stages have.
PetscErrorCode GridSystems::judge(SNES snes, PetscInt iteration, PetscReal /*x*/, PetscReal /*change*/,
                                  PetscReal residual, SNESConvergedReason* reason, void* self) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  auto& systems = *static_cast<GridSystems*>(self);
  systems.residual_norms_.push_back(systems.without_constants(residual));
  *reason = SNES_CONVERGED_ITERATING;
  if (!std::isfinite(residual)) *reason = SNES_DIVERGED_FNORM_NAN;
  if (iteration == 0) systems.linear_.aim(LinearSolver::loosest_aim);
  if (iteration == 0 || !std::isfinite(residual)) return 0;
  if (systems.has_bad_jacobian_) *reason = SNES_DIVERGED_JACOBIAN_DOMAIN;
  if (*reason < 0) return 0;
  Vec x = nullptr, step = nullptr;
  SNESGetSolution(snes, &x);
  SNESGetSolutionUpdate(snes, &step);
  const double now = systems.largest_change(x, step), ratio = now / std::exchange(systems.change_before_, now);
  double left = 10.0 * ratio * ratio * now, most = eps;
  if (systems.linear_.is_iteration()) {
    left = std::max(std::min(0.1 * ratio * now, left), 0.1 * systems.linear_.tolerance() * now);
    most = most_left;
  }
  const bool is_found =
      now <= 2 * eps || (iteration > 1 && ((now < 1e-4 && left <= most) || (now < 1e-9 && ratio > 0.1)));
  if (is_found) *reason = SNES_CONVERGED_SNORM_RELATIVE;
  systems.aim_at_next(now);
  return 0;
}

/// Newton's method squares what the iteration before left of the rest, and more than that, or more than is needed in
/// the end, would be solved for nothing (Eisenstat and Walker, 1996). @param now the largest change.
void GridSystems::aim_at_next(double now) {
  constexpr double least = 1e-8;
  const double left = residual_norms_.back() / residual_norms_[residual_norms_.size() - 2],
               needed = 5.0 * most_left / (left * now);
  const double wanted = std::max(left * left, needed);
  linear_.aim(std::isnan(wanted) ? LinearSolver::loosest_aim : std::clamp(wanted, least, LinearSolver::loosest_aim));
}

/// Solves for x with the right-hand side b, precisely. @returns why that failed; empty: it did not.
std::string GridSystems::solve_linear(Vec b, Vec x, bool is_transposed) {
  const bool is_finite = matrix_.is_finite();  // factors would make zeros of it
  std::string failure = is_finite ? of_constants_ : "";
  if (!is_finite && !is_transposed)
    failure = !failure_.empty() ? failure_
                                : "the matrix of the step, made of the equations' derivatives, is not finite: " +
                                      bad_derivative(rows());
  if (is_finite && failure.empty()) {
    failure = linear_.solve(b, x, is_transposed, rows());
    require_budget();
  } else {
    VecSet(x, std::numeric_limits<double>::quiet_NaN());
  }
  return failure;
}

/// The second time nothing is made that stays.
void GridSystems::warm_up(Tables& tables, const SeriesData& series, StepTime at, std::span<const double> a, double* u,
                          double* x, double* slope, bool transposed) {
  constexpr double little = 1e-6;  // of a step, so that Newton's method ends soon
  const CountMemory counted(account_);
  const std::int64_t before = account_ ? account_->used() : 0;
  const std::int64_t stride = grid_->layout().field_stride, all = stride * std::ssize(model_.fields);
  const auto start = [&] {
    for (const std::int64_t place : *places_)
      for (std::int64_t i = place; i < place + all; i += stride) x[i] = u[i];
  };
  const auto solve_all = [&](double length) {
    is_current_ = false;
    try {
      start();
      if (!entries_.is_linear() || free_.is_any()) solve_stage(tables, series, at, little * length, u, x, slope);
      linearise(tables, series, at, length, u, slope, false);
      start();
      solve(x);
      start();
      if (transposed) solve_transposed(x);
    } catch (const NumericsError&) {  // steps will tell, if it is one for them
      if (is_broken()) throw;
    }
  };
  const auto solve_each = [&] { std::ranges::for_each(a, solve_all); };
  solve_each();
  require_used_options();
  look_at_solvers();
  if (account_) account_->restart_peak();
  solve_each();
  if (account_) passing_bytes_ = account_->peak() - account_->used();
  if (account_ && transposed && may_change(a.size())) reserve_for_others(before, solve_each);
  linear_.end_warm_up();
  begin();
}

/// Whether other solvers may be chosen for it.
bool GridSystems::may_change(std::size_t lengths) const {
  const bool with_values = (changes_ == Stepper::Changes::of_all && entries_.depends_on_parameters()) ||
                           (changes_ == Stepper::Changes::of_unknowns && entries_.depends_on_unknowns());
  return with_values || (linear_.is_iteration() && (!entries_.is_fixed() || lengths > 1));
}

/// Of a matrix that may become another: what takes most may be chosen then, and what that makes follows from the
/// values.
void GridSystems::reserve_for_others(std::int64_t before, const std::function<void()>& solve_all) {
  constexpr std::int64_t share_in_reserve = 16;
  const std::int64_t peak = account_->peak();
  std::int64_t most = peak;
  const bool is_other = linear_.choose_largest(true);
  PetscBool ends = PETSC_FALSE;  // with an error where it finds no solution
  SNESGetErrorIfNotConverged(snes_, &ends);
  SNESSetErrorIfNotConverged(snes_, PETSC_FALSE);
  if (is_other) {
    account_->restart_peak();
    solve_all();
    most = std::max(peak, account_->peak());
  }
  SNESSetErrorIfNotConverged(snes_, ends);
  linear_.choose_largest(false);
  if (is_other) solve_all();
  reserved_bytes_ = most - peak + (linear_.is_iteration() ? (most - before) / share_in_reserve : 0);
}

/// The solvers that were chosen, and packages that take memory past PETSc.
void GridSystems::look_at_solvers() {
  PC pc = nullptr;
  KSPGetPC(linear_.get(), &pc);
  const OtherPackages others = other_packages(pc);
  of_others_.reset();
  if (others.bytes > 0) of_others_.emplace(others.bytes);
  report_ = {{{prefix_, description()}}};
  if (!others.uncounted.empty())
    report_.notes.push_back("the memory that " + join(others.uncounted) +
                            " takes for PETSc's solvers is not counted in budgets");
  if (!others.unrepeatable.empty())
    report_.notes.push_back(join(others.unrepeatable) +
                            " on several ranks does not repeat itself: equal runs may differ in their last digits, "
                            "and a gradient of one schedule from that of another");
  for (const std::string& field : needlessly_balanced())
    report_.notes.push_back(fmt::format(
        "balance: true of zero({0}) has no effect: its constant is not free, and nothing is taken away", field));
}

std::string GridSystems::description() const {
  const std::string linear = description_of(linear_.get(), linear_.solved_to());
  return entries_.is_linear() ? linear : "Newton's method with " + linear;
}

/// Of the first solvers, and of the last, where these are others.
SolverReport GridSystems::solver_report() const {
  SolverReport now = report_;
  if (is_broken() || now.solvers.empty()) return now;
  std::string& solver = now.solvers.begin()->second;
  if (const std::string last = description(); last != solver) solver += "; in the end by " + last;
  return now;
}

std::vector<std::string> GridSystems::needlessly_balanced() const {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < entries_.variables().size(); ++i) {
    const std::size_t field = entries_.variables()[i].field;
    const bool is_pinned = std::ranges::find(matrix_.pinned(), static_cast<int>(i)) != matrix_.pinned().end();
    if (model_.is_balanced(field) && !is_pinned) fields.push_back(model_.fields[field]);
  }
  return fields;
}

/// PETSc's memory is not refused while ranks work together. @throws ResourceError, on all ranks.
void GridSystems::require_budget() const {
  const std::int64_t lacking = comm().max(account_ ? account_->overdrawn() : 0);
  if (lacking > 0)
    throw ResourceError(
        fmt::format("PETSc's solvers took {:.2f} MiB more than the budget of host memory leaves them (what they "
                    "need follows from the values of the matrix: of parameters, the state, the time and the length of "
                    "the step): give checkpoints.host more",
                    static_cast<double>(lacking) / (1 << 20)));
}

void GridSystems::solve(double* x) {
  const CountMemory counted(account_);
  give(x, residual_);
  std::string failure = solve_linear(residual_, x_, false);
  if (free_.is_any()) free_.balance(residual_, x_);
  take(x_, x);
  if (!failure.empty()) fail(std::move(failure), x);
}

void GridSystems::solve_transposed(double* x) {
  const CountMemory counted(account_);
  give(x, residual_);
  if (free_.is_any()) free_.balance_transposed(residual_);
  const std::string failure = solve_linear(residual_, x_, true);
  take(x_, x);
  if (failure.empty()) return;
  PetscReal size = 0.0;
  VecNorm(residual_, NORM_2, &size);
  if (std::isfinite(size)) throw NumericsError("a step backward failed: " + failure);  // else steps have failed before
}

void GridSystems::fail(std::string why, double* y) {
  if (failure_.empty()) failure_ = std::move(why);
  at_every_row([&](std::size_t, std::int64_t i, double) { y[i] = std::numeric_limits<double>::quiet_NaN(); });
}

}  // namespace hindsight
