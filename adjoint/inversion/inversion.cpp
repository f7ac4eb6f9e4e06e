#include "adjoint/inversion/inversion.hpp"

#include <petsctao.h>

#include <algorithm>
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

/// What TAO's callbacks need; exceptions wait here until C code is left.
struct Context {
  const InversionProblem& problem;
  const std::function<void(const InversionIteration&)>& monitor;
  InversionResult result;
  std::vector<double> gradient;
  double worst = 0.0;  // the largest objective seen: what a failed trial must exceed
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
    } catch (const NumericsError&) {
      if (context.result.evaluations == 1) throw;
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
  if (context.monitor) context.monitor(now);
  return 0;
}

std::string reason_text(TaoConvergedReason reason) {
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
      return "the line search found no better point (round-off, or a rough objective)";
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
                       const std::function<void(const InversionIteration&)>& monitor) {
  start_petsc();
  const std::string& options = settings.petsc_options;
  const GivenOptions given(options, "--petsc:");
  const PetscErrors errors;
  Context context{problem, monitor, {}, std::vector<double>(problem.start.size(), 0.0), 0.0, nullptr};
  const PetscVector x(comm, problem.start), lower(comm, as_petsc(problem.lower)), upper(comm, as_petsc(problem.upper));
  TaoHandle handle;
  Tao& tao = handle.tao;
  check_petsc(TaoCreate(comm.handle(), &tao), "make an optimiser");
  const std::string type = settings.method == "lbfgs" ? "blmvm" : settings.method;
  check_petsc(TaoSetType(tao, type.c_str()), "choose the method");
  check_petsc(TaoSetSolution(tao, x.get()), "set the start");
  check_petsc(TaoSetVariableBounds(tao, lower.get(), upper.get()), "set the bounds");
  check_petsc(TaoSetObjectiveAndGradient(tao, nullptr, evaluate, &context), "set the objective");
  check_petsc(TaoSetMonitor(tao, report, &context, nullptr), "set the monitor");
  check_petsc(TaoSetTolerances(tao, settings.gradient, 0.0, settings.relative), "set the tolerances");
  check_petsc(TaoSetMaximumIterations(tao, static_cast<PetscInt>(settings.iterations)), "limit the iterations");
  errors.check_options(TaoSetFromOptions(tao), "--petsc:", options);
  const PetscErrorCode code = TaoSolve(tao);
  if (context.error) std::rethrow_exception(context.error);
  check_petsc(code, "optimise");
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  TaoGetConvergedReason(tao, &reason);
  context.result.unused_options = unused_options(options);
  context.result.variables = values_of(x.get());
  context.result.converged = reason > 0;
  context.result.gave_up = reason <= 0 && reason != TAO_DIVERGED_MAXITS && reason != TAO_DIVERGED_MAXFCN;
  context.result.reason = reason_text(reason);
  return context.result;
}

}  // namespace hindsight
