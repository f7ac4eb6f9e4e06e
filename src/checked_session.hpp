// A case's gradient, checked unknown by unknown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "adjoint/check/gradient_check.hpp"
#include "src/session.hpp"

namespace hindsight {

/// The check of one unknown, or of all together where there are several.
struct CheckedUnknown {
  std::string label;
  DirectionCheck check;
};

/// What a check begins with: the point, and the gradient there as the session's program has it.
struct CheckedPoint {
  UnknownValues values;
  Evaluation evaluation;
};

/// Checks the gradient at a point, in a direction that changes each unknown uphill by about its own size. @param
/// checked called after each. Sets the session's values back when it is done. Collective, the same on all ranks.
std::vector<CheckedUnknown> check_gradient(Session& session, const CheckedPoint& point,
                                           const std::function<void(const CheckedUnknown&)>& checked = {});

/// Of another gradient at that point the derivatives in the same directions, one per unknown that is checked.
std::vector<double> checked_slopes(const Session& session, const CheckedPoint& point, const UnknownValues& gradient);

}  // namespace hindsight
