// Fields that constraints fix, as functions of the others.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "solvers/steppers/implicit/stage_systems.hpp"

namespace hindsight {

/// z(t, x, p), where 0 = G(t, x, z, p) are a model's constraints, z the fields that they fix and x the others. With A =
/// -dG/dz: dz = A^-1 (dG/dx dx + dG/dp dp), and w = A^-T zbar adds w dG/dx to xbar and w dG/dp to pbar. Blocks are
/// states of the model's fields. Memory: two of them. What is about parameters, series and sums is as for
/// ModelOperators.
class Constraints {
 public:
  /// @param petsc, changes see Stepper::Wants; options have the prefix -constraint_. model and active outlive it.
  Constraints(const Model& model, const Active& active, const Derivatives& wanted, const PetscOptions& petsc,
              Stepper::Changes changes);

  ModelOperators& operators() { return operators_; }
  const ModelOperators& operators() const { return operators_; }
  KernelSet& system_kernels() { return systems_->kernels(); }
  /// States that it allocates.
  static constexpr int working_states = 2;
  /// @param places see StageSystems. Collective.
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series,
               const CountedVector<std::int64_t>& places);
  void warm_up(Tables& tables, StepTime at, double* state);
  std::int64_t passing_bytes() const { return systems_->passing_bytes(); }
  std::int64_t reserved_bytes() const { return systems_->reserved_bytes(); }
  double solved_to() const { return systems_->solved_to(); }
  void loosen(double factor) { systems_->loosen(factor); }
  SolverReport solver_report() const { return systems_->solver_report(); }
  std::vector<double> sizes_seen() const { return systems_->sizes_seen(); }
  void set_sizes_seen(std::vector<double> sizes) { systems_->set_sizes_seen(std::move(sizes)); }
  void parameters_changed() { systems_->parameters_changed(); }

  // Collective.
  /// Gives z its values. @param state with the first guess of z; not a number where there is no solution.
  void solve(Tables& tables, StepTime at, double* state);
  /// Gives dz its values. @param state solved.
  void tangent(Tables& tables, StepTime at, double* state, double* direction);
  /// Moves what lambda has of z to that of x, and to the sums. @param state solved.
  void adjoint(Tables& tables, StepTime at, double* state, double* lambda);

  /// Forgets failures.
  void begin() { systems_->begin(); }
  StepFailure failure() const { return systems_->failure(); }
  /// Zero in place of z.
  void clear(double* block) const;

 private:
  void linearise(Tables& tables, StepTime at, double* state);
  template <class Visit>
  void at_every_value(Visit visit) const;

  const Model model_;  // whose other equations are empty
  const std::vector<SystemVariable> variables_;
  ModelOperators operators_;
  std::unique_ptr<StageSystems> systems_;
  const CountedVector<std::int64_t>* places_ = nullptr;
  std::int64_t field_stride_ = 1, doubles_ = 0;
  Memory weights_, product_;
};

}  // namespace hindsight
