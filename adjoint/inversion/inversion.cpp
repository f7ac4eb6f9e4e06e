#include "adjoint/inversion/inversion.hpp"

#include <petsctao.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "runtime/error.hpp"
#include "runtime/petsc.hpp"

namespace hindsight {
namespace {

class PetscVector {
 public:
  PetscVector(const Communicator& comm, const std::vector<double>& values) {
    check_petsc(VecCreateMPI(comm.handle(), static_cast<PetscInt>(values.size()), PETSC_DETERMINE, &vec_),
                "make a vector");
    set(values);
  }
  ~PetscVector() { VecDestroy(&vec_); }
  PetscVector(const PetscVector&) = delete;
  PetscVector& operator=(const PetscVector&) = delete;
  Vec get() const { return vec_; }
  void set(const std::vector<double>& values) {
    double* to = nullptr;
    VecGetArray(vec_, &to);
    std::copy(values.begin(), values.end(), to);
    VecRestoreArray(vec_, &to);
  }

 private:
  Vec vec_ = nullptr;
};

std::vector<double> as_petsc(std::vector<double> bounds) {
  for (double& b : bounds) b = std::clamp<double>(b, PETSC_NINFINITY, PETSC_INFINITY);
  return bounds;
}

std::vector<double> values_of(Vec vec) {
  PetscInt size = 0;
  VecGetLocalSize(vec, &size);
  const double* from = nullptr;
  VecGetArrayRead(vec, &from);
  std::vector<double> values(from, from + size);
  VecRestoreArrayRead(vec, &from);
  return values;
}

/// Counts iterations that come to nothing: neither the objective nor the gradient falls, and the point hardly moves.
/// The first and the last are tests U1 and U2 of Gill, Murray and Wright, Practical Optimization (1981), 8.2.3.2, which
/// let the point move by the root of what the objective may: near a minimum that is all that the objective tells.
class Stall {
 public:
  /// Whether so many in a row came to nothing. @param now of an iteration behind the one before. Collective.
  bool at(const InversionIteration& now, Vec x) {
    const bool is_first = x_ == nullptr;
    if (is_first) check_petsc(VecDuplicate(x, &x_), "make a vector");
    PetscReal moved = 0.0, size = 0.0;
    if (!is_first) {
      VecAXPY(x_, -1.0, x);
      VecNorm(x_, NORM_2, &moved);
      VecNorm(x, NORM_2, &size);
    }
    VecCopy(x, x_);
    const bool falls = is_first || objective_ - now.objective > round_off * std::abs(now.objective);
    const bool is_flatter = is_first || now.gradient_norm < noticeable * gradient_norm_;
    objective_ = now.objective;
    if (is_flatter) gradient_norm_ = now.gradient_norm;
    in_a_row_ = falls || is_flatter || moved > std::sqrt(round_off) * (1.0 + size) ? 0 : in_a_row_ + 1;
    return in_a_row_ == most;
  }
  /// Whether the last iteration came to something.
  bool is_moving() const { return in_a_row_ == 0; }
  Stall() = default;
  ~Stall() { VecDestroy(&x_); }
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

 private:
  static constexpr double round_off = 1e-15;  // of an objective, relative
  static constexpr double noticeable = 0.99;  // factor by which a gradient falls
  static constexpr int most = 3;

  Vec x_ = nullptr;  // of the iteration before
  double objective_ = 0.0, gradient_norm_ = 0.0;
  int in_a_row_ = 0;
};

/// What TAO's callbacks need; exceptions wait here until C code is left.
struct Context {
  const InversionProblem& problem;
  const InversionMonitor& monitor;
  InversionResult result;
  std::vector<double> gradient;
  std::string failure;  // of the run at a point that was tried since the last iteration that came to something
  double worst = 0.0;   // the largest objective seen: what a failed trial must exceed
  Stall stall;
  std::exception_ptr error;
};

PetscErrorCode evaluate(Tao, Vec x, PetscReal* f, Vec g, void* pointer) {
  auto& context = *static_cast<Context*>(pointer);
  try {
    const std::vector<double> variables = values_of(x);
    ++context.result.evaluations;
    try {
      *f = context.problem.evaluate(variables, context.gradient);
      context.worst = std::max(context.worst, *f);
    } catch (const NumericsError& error) {
      if (context.result.evaluations == 1) throw;
      context.failure = error.what();
      *f = 1e3 * (1.0 + context.worst);  // a trial step too far: the gradient of before leads back
    }
    double* to = nullptr;
    VecGetArray(g, &to);
    std::copy(context.gradient.begin(), context.gradient.end(), to);
    VecRestoreArray(g, &to);
    return 0;
  } catch (...) {
    context.error = std::current_exception();
    return PETSC_ERR_USER;
  }
}

PetscErrorCode report(Tao tao, void* pointer) {
  auto& context = *static_cast<Context*>(pointer);
  InversionIteration now;
  PetscInt iteration = 0;
  PetscReal infeasibility = 0.0;
  TaoGetSolutionStatus(tao, &iteration, &now.objective, &now.gradient_norm, &infeasibility, &now.step, nullptr);
  now.iteration = iteration;
  now.evaluations = context.result.evaluations;
  context.result.history.push_back(now);
  if (!context.monitor) return 0;
  try {
    Vec x = nullptr;
    TaoGetSolution(tao, &x);
    context.monitor(now, values_of(x));
    return 0;
  } catch (...) {
    context.error = std::current_exception();
    return PETSC_ERR_USER;
  }
}

/// TAO's own test, and an end where iterations come to nothing: its line search calls some of these found.
PetscErrorCode test_end(Tao tao, void* pointer) {
  auto& context = *static_cast<Context*>(pointer);
  if (const PetscErrorCode code = TaoDefaultConvergenceTest(tao, nullptr)) return code;
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  TaoGetConvergedReason(tao, &reason);
  if (reason != TAO_CONTINUE_ITERATING || context.result.history.empty()) return 0;
  try {
    Vec x = nullptr;
    TaoGetSolution(tao, &x);
    if (context.stall.at(context.result.history.back(), x)) TaoSetConvergedReason(tao, TAO_DIVERGED_LS_FAILURE);
    if (context.stall.is_moving()) context.failure.clear();
    return 0;
  } catch (...) {
    context.error = std::current_exception();
    return PETSC_ERR_USER;
  }
}

/// @param failure of a run at a point that was tried.
std::string reason_text(TaoConvergedReason reason, const std::string& roughness, const std::string& failure) {
  switch (reason) {
    case TAO_CONVERGED_GATOL:
      return "the gradient is small enough";
    case TAO_CONVERGED_GRTOL:
      return "the gradient is small compared with the objective";
    case TAO_CONVERGED_GTTOL:
      return "the gradient has fallen by the factor asked for";
    case TAO_CONVERGED_STEPTOL:
      return "the steps have become negligible";
    case TAO_CONVERGED_MINF:
      return "the objective is below the value asked for";
    case TAO_CONVERGED_USER:
      return "stopped by the user";
    case TAO_DIVERGED_MAXITS:
      return "the number of iterations is used up";
    case TAO_DIVERGED_NAN:
      return "a value is not finite";
    case TAO_DIVERGED_MAXFCN:
      return "the number of evaluations is used up";
    case TAO_DIVERGED_LS_FAILURE:
      if (!failure.empty())
        return "the line search found no better point, and runs at some that it tried failed: " + failure;
      return "the line search found no better point (round-off, or a rough objective" +
             (roughness.empty() ? "" : ": " + roughness) + ")";
    case TAO_DIVERGED_TR_REDUCTION:
      return "the trust region has become too small";
    default:
      return "the optimiser stopped for a reason of its own";
  }
}

struct TaoHandle {
  Tao tao = nullptr;
  ~TaoHandle() { TaoDestroy(&tao); }
};

}  // namespace

InversionResult invert(const InversionProblem& problem, const InversionSettings& settings, const Communicator& comm,
                       const InversionMonitor& monitor) {
  start_petsc();
  const std::string type = settings.method == "lbfgs" ? "blmvm" : settings.method;
  const GivenOptions given(settings.petsc.text(), settings.petsc.origin());
  const std::string steps_back = std::to_string(settings.history);  // of whichever method options choose
  const DefaultOptions history(
      {{"-tao_blmvm_mat_lmvm_hist_size", steps_back}, {"-tao_bqnls_mat_lmvm_hist_size", steps_back}});
  const PetscErrors errors;
  Context context{problem, monitor, {}, std::vector<double>(problem.start.size(), 0.0), "", 0.0, {}, nullptr};
  const PetscVector x(comm, problem.start), lower(comm, as_petsc(problem.lower)), upper(comm, as_petsc(problem.upper));
  TaoHandle handle;
  Tao& tao = handle.tao;
  check_petsc(TaoCreate(comm.handle(), &tao), "make an optimiser");
  check_petsc(TaoSetType(tao, type.c_str()), "choose the method");
  check_petsc(TaoSetSolution(tao, x.get()), "set the start");
  check_petsc(TaoSetVariableBounds(tao, lower.get(), upper.get()), "set the bounds");
  check_petsc(TaoSetObjectiveAndGradient(tao, nullptr, evaluate, &context), "set the objective");
  check_petsc(TaoSetMonitor(tao, report, &context, nullptr), "set the monitor");
  check_petsc(TaoSetConvergenceTest(tao, test_end, &context), "set the test of the end");
  check_petsc(TaoSetTolerances(tao, settings.gradient, 0.0, settings.relative), "set the tolerances");
  check_petsc(TaoSetMaximumIterations(tao, static_cast<PetscInt>(settings.iterations)), "limit the iterations");
  errors.check_options(TaoSetFromOptions(tao), settings.petsc.origin(), settings.petsc.text());
  const PetscErrorCode code = TaoSolve(tao);
  if (context.error) std::rethrow_exception(context.error);
  check_petsc(code, "optimise");
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  TaoGetConvergedReason(tao, &reason);
  for (const std::string& name : unused_options(settings.petsc.text()))
    if (name.starts_with("-tao_")) context.result.unused_options.push_back(name);
  context.result.variables = values_of(x.get());
  context.result.converged = reason > 0;
  context.result.gave_up = reason <= 0 && reason != TAO_DIVERGED_MAXITS && reason != TAO_DIVERGED_MAXFCN;
  context.result.reason = reason_text(reason, settings.roughness, context.failure);
  return context.result;
}

}  // namespace hindsight
