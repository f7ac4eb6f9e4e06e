// H-Revolve's dynamic program: the least cost for any stack of tiers (Herrmann, Pallez 2020, ACM TOMS 46, with the
// recurrence as proven by exhaustive search). Time quadratic in the steps, memory linear.
#pragma once

#include <cstdint>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

struct ProgramTier {
  Tier tier = Tier::host;
  std::int64_t slots = 0;
  double write = 0, read = 0;
};

class TierProgram {
 public:
  /// @param tiers fastest first; only the first may have no slots. @param costs forward and reverse are used.
  TierProgram(std::int64_t steps, std::vector<ProgramTier> tiers, const ScheduleCosts& costs);
  /// Table entries times candidates: about the operations that the constructor needs.
  static double operations(std::int64_t steps, const std::vector<ProgramTier>& tiers);
  /// What it keeps, and what a stream of its actions does.
  static ScheduleMemory memory(std::int64_t steps, const std::vector<ProgramTier>& tiers);

  /// The least cost of all steps, reversal included.
  double cost() const;
  /// Where to cut a segment of l+1 steps that starts with its state live or in tier k.
  struct Choice {
    enum class Kind { lower, save, cut } kind;
    std::int64_t cut = 0;  ///< steps to advance before the next part
  };
  /// The state is live only, `free` slots of tier k are free.
  Choice when_live(std::size_t k, std::int64_t l, std::int64_t free) const;
  /// The state is in tier k too, in one of `own` slots of which the others are free.
  Choice when_kept(std::size_t k, std::int64_t l, std::int64_t own) const;

  std::int64_t steps() const { return steps_; }
  const std::vector<ProgramTier>& tiers() const { return tiers_; }

 private:
  const double& live(std::size_t k, std::int64_t l, std::int64_t free) const;
  double lower(std::size_t k, std::int64_t l) const;
  double cut_cost(std::size_t k, std::int64_t l, std::int64_t own, std::int64_t cut) const;
  void fill(std::size_t k);

  std::int64_t steps_;
  std::vector<ProgramTier> tiers_;
  ScheduleCosts costs_;
  // [k][m][l]: costs of l+1 steps with m slots of tier k, started live (m >= 0) and kept (m >= 1)
  using Row = CountedVector<double>;
  std::vector<CountedVector<Row>> live_, kept_;
};

/// The counts and the actions of the program's schedule.
ScheduleCounts program_counts(const TierProgram& program);
ActionStream program_actions(const TierProgram& program);

}  // namespace hindsight
