// How gradients are made, and who is told about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adjoint/gradients/gradient_keeper.hpp"
#include "adjoint/plan/checkpoint_options.hpp"
#include "adjoint/problem/simulation.hpp"
#include "adjoint/store/disk_space.hpp"
#include "runtime/host_memory.hpp"

namespace hindsight {

/// Who is told how far gradients are. All may be left out.
struct GradientWatch {
  std::function<void(std::int64_t steps)> begins = {};  ///< an evaluation that takes so many steps, about
  ProgressObserver progress = {};
  std::function<void()> ends = {};                     ///< the same evaluation
  std::function<void(const std::string&)> warns = {};  ///< what was mended, in a sentence
};

/// A function of the unknowns that is added to the objective: adds its derivatives to a gradient and returns its value.
/// Those by cells that rest do not count. Collective.
using Penalty = std::function<double(UnknownValues& gradient)>;

struct GradientOptions {
  CheckpointOptions checkpoints = {};
  /// Makes the disk tier's media. @see CheckpointFiles (io/checkpoints). May be null as long as checkpoints.disk is not
  /// given.
  std::shared_ptr<DiskSpace> disk = {};
  std::string costs = {};  ///< of operations in seconds, as of `hindsight plan --cost`; the rest is measured
  /// What operations take, where a like problem has measured it; then nothing is measured.
  std::optional<OperationSeconds> known = {};
  std::int64_t gradients = 1;  ///< that memory is made once for
  /// Problems that share the budgets, where these are not given but found.
  int sharers = 1;
  /// Of this rank's node, where more ranks share it than those of the problem.
  std::optional<NodeMemory> memory = {};
  std::string name = "plan";  ///< under which a keeper keeps the plan
  bool only_plan = false;     ///< no gradient will be asked for
  Penalty penalty = {};
  GradientKeeper* keeper = nullptr;  ///< must outlive the gradients
  GradientWatch watch = {};
};

/// An objective and its derivatives, penalty included.
struct Evaluation {
  double objective = 0.0;
  UnknownValues gradient = {};
  DriverCounts counts = {};
  double seconds = 0.0;
};

}  // namespace hindsight
