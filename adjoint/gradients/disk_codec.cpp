// Which lossless codec the disk's states get, where nobody names one.
#include "adjoint/gradients/planned_checkpoints.hpp"
#include "runtime/error.hpp"

namespace hindsight {

void PlannedCheckpoints::choose_disk_codec() {
  constexpr double worth_a_look = 1.0;  // seconds of a gradient
  constexpr double worth_it = 0.9;      // of the time without
  if (options_.checkpoints.disk_codec.is_given || options_.only_plan || !options_.costs.empty() || plan_.is_open() ||
      comm_.any(plan_.seconds < worth_a_look || !uses_disk()))
    return;
  std::string best = no_codec;
  OperationSeconds costs = inputs().seconds;  // of the best
  double least = worth_it * comm_.max(plan_.seconds);
  for (const std::string& kind : compressor_names()) {
    tiers_->set_disk_codec(kind);
    means_.uses_disk = true;
    set_depth(depth_);
    if (is_short(Tier::host)) set_depth(SlowTiers::shallow);
    if (is_short(Tier::host)) continue;
    try {
      plan_again();
    } catch (const InputError&) {  // its coders leave no memory for a checkpoint
      continue;
    }
    const double seconds = comm_.max(plan_.seconds);
    if (seconds >= least || comm_.any(!uses_disk())) continue;
    least = seconds;
    best = kind;
    costs = inputs().seconds;
  }
  if (best == tiers_->disk_codec()) return;
  tiers_->set_disk_codec(best);
  plan_again(costs);
}

}  // namespace hindsight
