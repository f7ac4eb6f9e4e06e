// How large the terms of an equation are that cancel each other.
#pragma once

#include <cstdint>

#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// The largest sum of the absolute values of the terms of a field's equation, down to what it reads, over some cells
/// that are spread over the owned ones: the scale of rounding in its integral. Collective, the same on all ranks.
/// @param places the owned cells, by their offsets in the array of a field. @param u a state, whose ghosts are filled.
double size_of_terms(const Model& model, std::size_t field, const Grid& grid, const CountedVector<std::int64_t>& places,
                     Tables& tables, const double* u);

}  // namespace hindsight
