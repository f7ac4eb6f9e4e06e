// Products and differences of values of all unknowns, the same on every number of ranks.
#pragma once

#include <functional>

#include "adjoint/problem/simulation.hpp"

namespace hindsight {

/// Sum of a number of each owned cell over all ranks, in global order. Collective.
double sum_over_cells(const Grid& grid, const std::function<double(std::size_t cell)>& summand);

/// Sum over all ranks of products of two sets of values, each replicated one counted once; an empty block counts as
/// zeros. Collective.
double dot(const Simulation& simulation, const UnknownValues& a, const UnknownValues& b);

/// |a - b| / |b|, the largest over the unknowns. Of one that hardly counts, because |b| times the unknown's value is
/// next to nothing beside those of others, |b| is taken as that next to nothing. Collective.
double relative_difference(const Simulation& simulation, const UnknownValues& a, const UnknownValues& b);

}  // namespace hindsight
