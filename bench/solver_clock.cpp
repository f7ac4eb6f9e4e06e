#include "bench/solver_clock.hpp"

#include <petsclog.h>
#include <petscsnes.h>

#include <algorithm>
#include <vector>

#include "runtime/stopwatch.hpp"

namespace hindsight::bench {
namespace {

std::vector<PetscLogEvent> solvers, callbacks;
std::vector<bool> open;  // of the events that are going on, the innermost last: whether it is a solver's
double sum = 0.0;
Stopwatch since;

bool is_among(const std::vector<PetscLogEvent>& events, PetscLogEvent event) {
  return std::ranges::find(events, event) != events.end();
}

bool is_inside() {
  return !open.empty() && open.back();
}

/// Up to now.
void count() {
  if (is_inside()) sum += since.seconds();
  since = Stopwatch();
}

PetscErrorCode begin(PetscLogEvent event, int, PetscObject, PetscObject, PetscObject, PetscObject) {
  const bool is_solver = is_among(solvers, event);
  if (!is_solver && !is_among(callbacks, event)) return 0;
  count();
  open.push_back(is_solver);
  return 0;
}

PetscErrorCode end(PetscLogEvent event, int, PetscObject, PetscObject, PetscObject, PetscObject) {
  if (!is_among(solvers, event) && !is_among(callbacks, event)) return 0;
  count();
  if (!open.empty()) open.pop_back();
  return 0;
}

std::vector<PetscLogEvent> events_of(const std::vector<const char*>& names) {
  std::vector<PetscLogEvent> found;
  for (const char* const name : names) {
    PetscLogEvent event = -1;
    PetscLogEventGetId(name, &event);
    if (event >= 0) found.push_back(event);
  }
  return found;
}

}  // namespace

SolverClock::SolverClock() {
  SNESInitializePackage();
  solvers = events_of({"SNESSolve", "KSPSolve", "KSPSetUp", "PCSetUp", "PCSetUpOnBlocks"});
  callbacks = events_of({"SNESFunctionEval", "SNESJacobianEval"});
  open.clear();
  sum = 0.0;
  PetscLogSet(begin, end);
}

SolverClock::~SolverClock() {
  PetscLogSet(nullptr, nullptr);
}

double SolverClock::seconds() const {
  return sum;
}

}  // namespace hindsight::bench
