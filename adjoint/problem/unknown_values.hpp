// Values of the unknowns of a simulation.
#pragma once

#include <vector>

namespace hindsight {

/// One block per unknown: a scalar's value, a series' knots (the same on every rank), or a field's owned cells (x
/// fastest). Also used for gradients and directions.
using UnknownValues = std::vector<std::vector<double>>;

}  // namespace hindsight
