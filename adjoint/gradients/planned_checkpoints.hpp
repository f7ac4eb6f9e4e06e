// Checkpoints of gradients: the plan that budgets and measured costs lead to, with the memory and the tiers that it
// takes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/gradients/gradient_options.hpp"
#include "adjoint/gradients/means.hpp"
#include "adjoint/gradients/slow_tiers.hpp"
#include "adjoint/plan/plan.hpp"
#include "adjoint/problem/simulation.hpp"

namespace hindsight {

/// All ranks plan with the capacities of the one that has the least. All calls that change anything are collective. As
/// long as nothing is planned, plan().kind is null.
class PlannedCheckpoints {
 public:
  /// Nothing is planned yet. @param simulation, options must outlive this. @param warn told what was mended, on all
  /// ranks. @throws InputError when a budget is too small for the working memory.
  PlannedCheckpoints(Simulation& simulation, const Communicator& comm, const GradientOptions& options, Warn warn);

  const CheckpointPlan& plan() const { return plan_; }
  /// What the plan is made from, and budgets, the least of all ranks.
  const Means& means() const { return means_; }
  const PlanInputs& inputs() const { return means_.inputs; }
  /// Where the budget of host memory comes from, in words; empty: the options give it.
  const std::string& source_of_host_budget() const { return host_source_; }
  /// Of host memory, when the options give more than there is; empty else. Collective.
  std::string warning_of_budget() const;
  /// Seconds since the process started when the plan was made; and what making the memory of checkpoints took then.
  double planned_at() const { return planned_at_; }
  double memory_seconds() const { return memory_seconds_; }
  /// Seconds since the process started when gradients can begin: with that memory as it was made or, where there is
  /// only a plan, as planned.
  double ready_at() const { return planned_at_ + (options_.only_plan ? plan_.memory_seconds : memory_seconds_); }
  /// Host memory with which steps are taken in spans (Simulation::use_spans()), where they are not yet; 0: they never
  /// are.
  std::int64_t bytes_in_spans() const;
  SlowTiers& tiers() { return *tiers_; }
  const SlowTiers& tiers() const { return *tiers_; }

  /// Plans with costs as given, else as measured on a few steps; where these promise a long gradient of short steps, on
  /// more of them, for about a hundredth of its time.
  void plan_measured();
  /// When the options name no codec for the disk: takes the lossless one that the plan gains from, if any.
  void choose_disk_codec();
  /// Codecs have changed: plans again with transfers measured; steps are not, so that codecs are compared and not the
  /// machine's moods.
  void plan_again();
  /// The same for gradients that any schedule gives alike, whatever schedule is asked for.
  void plan_freely();
  /// plan_again() with costs that are known.
  void plan_again(const OperationSeconds& known);
  /// The same with those of another process that works on a like problem, and the codec that it chose for the disk
  /// (SlowTiers::disk_codec()).
  void plan_alike(const OperationSeconds& known, const std::string& disk_codec);
  /// The last gradient took so many steps: where more of their records would fit than were kept, plans for as many. Of
  /// a run whose end is open; another plan has the same bits.
  void expect_steps(std::int64_t steps);
  /// Plans again with the slots that fit. @param seconds that the gradient had taken when it was broken off. @throws
  /// ResourceError when they are too few.
  void shrink(const TierIsFull& full, double seconds);
  /// Plans without walking back, from now on. @param why in a sentence. @param seconds as above. @throws ResourceError
  /// when nothing else fits.
  void stop_walking_back(const std::string& why, double seconds);
  /// Before a first gradient with these codecs: where a tier could turn out too small, because only the first states
  /// of the run were coded so far, learns what later ones take from a forward run, and plans with that. To begin a
  /// gradient again costs as much, and more. @param between is called after each step.
  void foresee_sizes(const std::function<void()>& between);

  /// The plan, what it was made from and what is known of coded states.
  void save(ArchiveWriter& to) const;
  /// A plan of an earlier process, without its schedule. @param is_moved another number of ranks had made it.
  CheckpointPlan read(ArchiveReader& from, bool is_moved);
  /// Takes such a plan. @returns false when it cannot be carried out here; nothing is planned then.
  bool adopt(CheckpointPlan plan);

 private:
  // Budgets (planned_checkpoints.cpp).
  std::vector<Tier> memories() const;
  void read_budget(Tier tier);
  void choose_tiers();
  std::string why_not_walk_back() const;
  void give_up_walking();
  /// What a gradient keeps of steps: states and records as schedules ask for them; all spans; records with factors; of
  /// all steps records of the first level alone.
  enum class Keeps { any, spans, factors, first_levels };
  void take_steps(Keeps what);
  void choose_steps();
  Keeps choice() const;
  bool fit_in_spans() const;
  bool fit_all(double units_each) const;
  void make_tiers(int depth);
  void set_depth(int depth);
  void require_working_memory() const;
  bool is_short(Tier tier) const;
  std::int64_t least_of_ranks(std::int64_t value) const { return -comm_.max(-value); }
  void count();
  void set_limits();
  void set_plan(CheckpointPlan plan);
  // Costs (measured_costs.cpp).
  void measure_steps(int repeats, double batch);
  void measure_transfers();
  void measure_memory();
  bool sample_memory(std::int64_t piece, std::int64_t bytes);
  void keep_in_memory();
  // Plans (planned_checkpoints.cpp).
  CheckpointPlan plan_alone();
  void drop_plan();
  void make_plan();
  void make_checkpoints();
  bool open_tiers();
  bool uses_disk() const { return plan_.request.capacities[Tier::disk] > 0; }
  bool fits_here() const;
  bool make_room();

  Simulation& simulation_;
  Communicator comm_;
  const GradientOptions& options_;
  Warn warn_;
  Means means_;
  std::array<std::int64_t, tier_count> own_bytes_{};  // of memories, as this process has found them
  std::string host_source_;
  std::unique_ptr<SlowTiers> tiers_;
  int depth_ = 0;  // of transfers, unless a plan needs their memory
  bool has_known_costs_ = false;
  CheckpointPlan plan_;
  double planned_at_ = 0.0, memory_seconds_ = 0.0;
};

}  // namespace hindsight
