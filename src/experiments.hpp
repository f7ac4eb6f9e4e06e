// The experiments of a case, ready to run: those that differ in values alone share a simulation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/gradients/gradients.hpp"
#include "adjoint/problem/given_values.hpp"
#include "io/case/case.hpp"

namespace hindsight {

/// A case without shots is one experiment. All calls that change anything are collective.
class Experiments {
 public:
  /// Builds the simulations. @param c must outlive it.
  Experiments(const Case& c, const Communicator& comm, Simulation::Wants wants);
  /// Plans gradients with checkpoints. @param options of the kind'th kind of experiments, of which there are `kinds`.
  /// Kinds after the first take the costs of steps that were measured for it.
  void plan(const std::function<GradientOptions(std::size_t kind)>& options);

  /// As Gradients has it, all kinds.
  void plan_alike(const OperationSeconds& known, const std::string& disk_codec) {
    for (Kind& kind : kinds_) kind.gradients->plan_alike(known, disk_codec);
  }

  std::size_t count() const { return all_.size(); }
  std::size_t kinds() const { return kinds_.size(); }
  bool are_shots() const { return are_shots_; }
  const std::string& name(std::size_t i) const { return all_[i].name; }
  double weight(std::size_t i) const { return all_[i].weight; }
  /// What an experiment's misfits compare with, misfit by misfit.
  std::vector<std::shared_ptr<const std::vector<PointObservation>>> observations(std::size_t i) const;

  /// From now on the simulation is that of this experiment; unknowns keep their values.
  void use(std::size_t experiment);
  std::size_t in_use() const { return now_; }
  Simulation& simulation() { return *kind().simulation; }
  const Simulation& simulation() const { return *kind().simulation; }
  /// Null where none are planned.
  Gradients* gradients() const { return kind().gradients.get(); }
  const Simulation& simulation_of(std::size_t experiment) const { return *kinds_[all_[experiment].kind].simulation; }
  const Gradients* gradients_of(std::size_t experiment) const { return kinds_[all_[experiment].kind].gradients.get(); }
  /// Calls `visit` with every kind's simulation and gradients, which may be null.
  template <class Visit>
  void for_each_kind(const Visit& visit) const {
    for (const Kind& kind : kinds_) visit(*kind.simulation, kind.gradients.get());
  }

 private:
  struct Kind {
    std::unique_ptr<Machine> machine;  ///< of kinds after the first on a device, with an account of its own
    std::shared_ptr<Simulation> simulation;
    std::unique_ptr<Gradients> gradients;
    std::size_t experiment = 0;  ///< whose values it has
  };
  struct Experiment {
    std::string name;
    double weight = 1.0;
    std::size_t kind = 0;
    GivenValues given;
  };
  Kind& kind() { return kinds_[all_[now_].kind]; }
  const Kind& kind() const { return kinds_[all_[now_].kind]; }
  void find_kinds(const Case& c, std::vector<const ProblemText*>& problems);

  Communicator comm_;
  bool are_shots_ = false;
  std::vector<Experiment> all_;
  std::vector<Kind> kinds_;
  std::size_t now_ = 0;
};

}  // namespace hindsight
