#include "src/experiments.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace hindsight {

Experiments::Experiments(const Case& c, const Communicator& comm, Simulation::Wants wants)
    : comm_(comm), are_shots_(!c.shots.empty()) {
  std::vector<const ProblemText*> problems;
  find_kinds(c, problems);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (k > 0 && !wants.machine->is_host()) {
      kinds_[k].machine = wants.machine->with_own_account();
      wants.machine = kinds_[k].machine.get();
    }
    try {
      kinds_[k].simulation = std::make_shared<Simulation>(read_problem(*problems[k]), comm, wants);
    } catch (const InputError& error) {
      if (!are_shots_) throw;
      throw InputError("shot '" + all_[kinds_[k].experiment].name + "': " + error.what());
    }
    if (are_shots_) kinds_[k].simulation->count(Objective::Which::of_states);
  }
  now_ = 0;
  if (are_shots_) use(0);
}

/// A kind's simulation is made for the one with the most observations, so that it needs no more memory for others.
void Experiments::find_kinds(const Case& c, std::vector<const ProblemText*>& problems) {
  const auto observations = [](const ProblemText& problem) {
    std::size_t count = 0;
    for (const TermText& term : problem.objective) count += term.observations.size();
    return count;
  };
  if (!are_shots_) {
    all_.push_back({});
    kinds_.emplace_back();
    problems.push_back(&c);
    return;
  }
  for (const Shot& shot : c.shots) {
    const auto found = std::ranges::find_if(
        problems, [&](const ProblemText* problem) { return differ_in_values_alone(*problem, shot.problem); });
    const auto k = static_cast<std::size_t>(found - problems.begin());
    if (found == problems.end()) {
      problems.push_back(&shot.problem);
      kinds_.emplace_back();
      kinds_.back().experiment = all_.size();
    } else if (observations(shot.problem) > observations(**found)) {
      *found = &shot.problem;
      kinds_[k].experiment = all_.size();
    }
    all_.push_back({shot.name, shot.weight, k, given_values(shot.problem)});
  }
}

void Experiments::plan(const std::function<GradientOptions(std::size_t kind)>& options) {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    GradientOptions own = options(k);
    if (k > 0) own.known = kinds_.front().gradients->checkpoints().inputs().seconds;
    kinds_[k].gradients = std::make_unique<Gradients>(kinds_[k].simulation, comm_, std::move(own));
  }
}

std::vector<std::shared_ptr<const std::vector<PointObservation>>> Experiments::observations(std::size_t i) const {
  return are_shots_ ? all_[i].given.observations : simulation().objective().observations();
}

void Experiments::use(std::size_t experiment) {
  Simulation& before = simulation();
  now_ = experiment;
  Kind& kind = this->kind();
  if (kind.simulation.get() != &before) kind.simulation->set_values(before.values());
  if (kind.experiment == experiment) return;
  kind.simulation->give(all_[experiment].given);
  kind.experiment = experiment;
}

}  // namespace hindsight
