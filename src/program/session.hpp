// A case made ready to run: its simulation, its priors, its checkpoint plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adjoint/plan/choice.hpp"
#include "adjoint/simulation.hpp"
#include "io/case/case.hpp"
#include "io/results/progress.hpp"

namespace hindsight {

/// A gradient with the priors of the unknowns included.
struct Evaluation {
  double objective = 0.0;
  UnknownValues gradient;
  DriverCounts counts;
};

class Session {
 public:
  /// Builds the simulation. Collective. The case's log-scale and prior settings are kept with the unknowns.
  Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet);

  const Case& source() const { return case_; }
  const Communicator& communicator() const { return comm_; }
  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  const CheckpointPlan& plan() const { return plan_; }

  /// The objective, priors included; observer as in Simulation.
  double objective(const StateObserver& observer);
  Evaluation gradient(const StateObserver& observer);
  /// The derivative in a direction by the tangent model, priors included.
  std::pair<double, double> tangent(const UnknownValues& direction);

  /// Sum over all ranks of products of two sets of values, each replicated one counted once. Collective.
  double dot(const UnknownValues& a, const UnknownValues& b) const;

 private:
  double add_priors(UnknownValues* gradient) const;

  Case case_;
  Communicator comm_;
  std::unique_ptr<Simulation> simulation_;
  CheckpointPlan plan_;
  Progress progress_;
};

}  // namespace hindsight
