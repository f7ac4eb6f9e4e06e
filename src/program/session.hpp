// A case made ready to run: its simulation, its priors, its checkpoint plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/plan/plan.hpp"
#include "adjoint/simulation.hpp"
#include "io/case/case.hpp"
#include "io/checkpoints/raw_file.hpp"
#include "io/checkpoints/scratch_folder.hpp"
#include "io/results/progress.hpp"

namespace hindsight {

/// A gradient with the priors of the unknowns included.
struct Evaluation {
  double objective = 0.0;
  UnknownValues gradient;
  DriverCounts counts;
  double seconds = 0.0;
};

/// What a plan is made from beside the case.
struct PlanOptions {
  std::string costs;          ///< as of `hindsight plan --cost`, in seconds
  bool only_plan = false;     ///< no gradient will be asked for
  std::string scratch = ".";  ///< folder of checkpoint files where the case names none
  std::optional<std::pair<double, double>> emulated_disk;  ///< memory in place of a disk: seconds per write, per read
  std::optional<std::pair<double, double>> slow_disk;      ///< a disk slowed down to as many seconds
  bool direct = true;                                      ///< past the page cache where the file system allows it
  OpenRawFile open_file = open_raw_file;
};

class Session {
 public:
  /// Builds the simulation. Collective. The case's log-scale and prior settings are kept with the unknowns.
  Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet, PlanOptions options = {});

  const Case& source() const { return case_; }
  const Communicator& communicator() const { return comm_; }
  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  const CheckpointPlan& plan() const { return plan_; }
  /// What the plan was made from; budgets are the least of all ranks.
  const PlanInputs& plan_inputs() const { return inputs_; }
  /// Bytes of host memory that a gradient may use, working memory included.
  std::int64_t host_budget() const { return host_budget_; }
  /// The disk tier; null when the plan does without it.
  const SlotTier* disk() const { return disk_.get(); }
  /// What went wrong and was mended since the session began, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// The objective, priors included; observer as in Simulation.
  double objective(const StateObserver& observer);
  Evaluation gradient(const StateObserver& observer);
  /// The derivative in a direction by the tangent model, priors included.
  std::pair<double, double> tangent(const UnknownValues& direction);

  /// Sum over all ranks of products of two sets of values, each replicated one counted once; an empty block counts as
  /// zeros. Collective.
  double dot(const UnknownValues& a, const UnknownValues& b) const;

 private:
  double add_priors(UnknownValues* gradient) const;
  void read_budgets();
  void read_transfers();
  void drop_transfers();
  void measure();
  void make_plan();
  void open_disk(std::int64_t slots);
  std::unique_ptr<SlotTier> make_disk(std::int64_t slots);
  void shrink(Tier tier, std::int64_t slots);
  void warn(const std::string& text);
  void report_damage(const DriverCounts& counts);

  Case case_;
  Communicator comm_;
  PlanOptions options_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::shared_ptr<TransferThreads> threads_;
  std::unique_ptr<SlotTier> disk_;
  std::vector<std::string> warnings_;
  std::string tag_;  // of this process in the names of checkpoint files
  PlanInputs inputs_;
  std::int64_t host_budget_ = 0, transfer_bytes_ = 0;
  CheckpointPlan plan_;
  bool has_drifted_ = false, has_shrunk_ = false;
  Progress progress_;
};

}  // namespace hindsight
