// An inversion whose evaluations groups of ranks share.
#pragma once

#include <functional>

#include "adjoint/inversion/inversion.hpp"
#include "adjoint/shots/shot_groups.hpp"

namespace hindsight {

/// As invert(): the first group optimises, and each group evaluates what it asks for, so that all decide alike. Of the
/// result, other groups get variables, evaluations and whether it gave up. @param problem of each group, whose
/// evaluate() is collective over all groups. @param monitor called in the first group. Collective over all groups.
InversionResult invert_together(const InversionProblem& problem, const InversionSettings& settings,
                                const ShotGroups& groups, const InversionMonitor& monitor);

}  // namespace hindsight
