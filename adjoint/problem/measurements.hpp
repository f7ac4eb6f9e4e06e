// What the operations of a gradient take on this machine, measured on the problem itself.
#pragma once

#include <cstdint>
#include <span>

#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/problem/simulated_steps.hpp"
#include "runtime/error.hpp"

namespace hindsight {

/// Measures with the memory that there is: States must have room for the units that are named.
class Measurements {
 public:
  /// All must outlive it.
  Measurements(Discretisation& problem, States& states, SimulatedSteps& steps)
      : problem_(problem), states_(states), steps_(steps) {}

  /// Units of memory that are worth using for steps(): as many as no cache holds, but no more than a few per cent of
  /// the run's steps; the same on all ranks. @param most that there are. Collective.
  std::int64_t units(std::int64_t most) const;
  /// The operations of steps, all ranks at once, as they come in a run; means of `repeats`, about `batch` seconds each,
  /// without the fastest and the slowest.
  /// Collective, the same on all ranks. @param chooses whether steps may be reversed from their states alone, where
  /// that is faster.
  StepSeconds steps(int repeats, double batch, std::int64_t units, bool chooses);
  /// Adds what gradients over the first steps of the run show beyond these operations, if they can be taken.
  /// Collective, the same on all ranks.
  void rehearse(StepSeconds& seconds, int repeats, double batch, std::int64_t units);
  /// Transfers of single states while steps are taken, when one follows the other. Uses so many of the tier's slots and
  /// empties it. Collective.
  TransferSeconds transfers(SlotTier& tier, std::int64_t slots);

 private:
  std::int64_t record_units() const { return 1 + states_.record_states(); }
  /// Steps of a sweep that are known by now.
  std::int64_t recorded() const { return problem_.time().is_known() ? steps_.count() : problem_.time().recorded(); }
  /// Of an adjoint that no gradient has: what fails with it says nothing of the run's.
  void reverse(std::int64_t k, const StepRecord& record) {
    try {
      steps_.batched([&] { steps_.reverse_step(k, record); });
    } catch (const NumericsError&) {
    }
  }
  double aside(const StepSeconds& seconds, int repeats, double batch, std::int64_t units);
  double of_transfers(const StepSeconds& seconds, int repeats, double batch, std::int64_t units);
  double gradient_seconds(const Schedule& schedule, Checkpoints& checkpoints, DriverCounts* counts = nullptr);
  ScheduleRequest request(std::int64_t steps, std::int64_t slots) const;
  Schedule revolving(std::int64_t steps, std::int64_t slots) const;
  Schedule storing_all(std::int64_t steps) const;
  void bare_gradient_over(std::span<StepRecord> records);

  Discretisation& problem_;
  States& states_;
  SimulatedSteps& steps_;
};

}  // namespace hindsight
