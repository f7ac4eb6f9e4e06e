// An inversion of a case, stage by stage.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "adjoint/inversion/inversion.hpp"
#include "src/session.hpp"

namespace hindsight {

/// Whoever looks on. Stages have their places in stages_of(). Iterations and evaluations are counted from the begin of
/// the first stage: a stage begins with the number of iterations, and the estimate, that the one before has ended with.
struct StageWatch {
  /// @param evaluations before.
  std::function<void(std::size_t stage, std::int64_t evaluations)> begins;
  /// In the first group. @param estimate gives that of the iteration. Collective over the group.
  std::function<void(std::size_t stage, const InversionIteration&, const std::function<UnknownValues()>& estimate)>
      iteration;
  std::function<void(std::size_t stage, const InversionResult&)> ends;
};

struct StagedInversion {
  std::vector<InversionResult> stages;  ///< counted as StageWatch says
  DriverCounts counts;                  ///< of the last gradient
  double gradient_seconds = 0.0;        ///< the same
};

/// Optimises stage after stage, each from the estimate of the one before and without what its optimiser had learnt, as
/// its objective is another. The session is left with the estimate, and with all shots. A stage that gives up does not
/// end the inversion. As invert_together(), collective over all groups.
StagedInversion invert_in_stages(Session& session, const StageWatch& watch);

}  // namespace hindsight
