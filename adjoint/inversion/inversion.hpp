// Gradient-based parameter inversion with PETSc's TAO.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/petsc_options.hpp"

namespace hindsight {

/// One variable's side of the optimisation; vectors below have one entry per local variable.
struct InversionProblem {
  std::vector<double> start;         ///< local variables; replicated unknowns belong to rank 0
  std::vector<double> lower, upper;  ///< +-infinity where unbounded
  /// Objective and local gradient at local variables. Collective. May throw; NumericsError makes the line search
  /// retreat.
  std::function<double(const std::vector<double>&, std::vector<double>&)> evaluate;
};

struct InversionSettings {
  std::string method = "lbfgs";  ///< lbfgs, blmvm: TAO's blmvm; bqnls; bncg
  std::int64_t iterations = 100;
  double gradient = 1e-6, relative = 0.0;
  PetscOptions petsc = {};     ///< of which those with -tao_ are for the optimiser
  std::int64_t history = 5;    ///< pairs of steps and changes of the gradient that quasi-Newton methods count on
  std::string roughness = {};  ///< what may make the objective rough, and what helps, for InversionResult::reason
};

struct InversionIteration {
  std::int64_t iteration = 0;
  double objective = 0.0, gradient_norm = 0.0, step = 0.0;
  std::int64_t evaluations = 0;
};

/// Called after every iteration, with the variables that it has come to.
using InversionMonitor = std::function<void(const InversionIteration&, const std::vector<double>& variables)>;

struct InversionResult {
  std::vector<double> variables;
  std::vector<InversionIteration> history;
  std::int64_t evaluations = 0;
  bool converged = false;
  bool gave_up = false;                     ///< neither converged nor at the limit of iterations or evaluations
  std::string reason;                       ///< why it stopped, in words
  std::vector<std::string> unused_options;  ///< of settings.petsc
};

/// Collective. Gives up where several iterations in a row come to nothing: neither the objective nor the gradient falls
/// by more than round-off, and the variables hardly move. @param monitor called after every iteration. Rethrows what
/// evaluate throws.
InversionResult invert(const InversionProblem& problem, const InversionSettings& settings, const Communicator& comm,
                       const InversionMonitor& monitor);

}  // namespace hindsight
