// Doubles as steps that spread over cells store them: none so small that products of them are subnormals (below
// 2.2e-308), for which processors of Intel take over a hundred cycles.
//
// Ahead of a wave, and around spots that diffuse into cells of zeros, all cells hold tiny values. Of states those below
// 2^-340 (4e-103) are stored as zeros, so that their squares and cubes are numbers or nothing; of adjoints and
// directions, which are as small as an objective's weight, those below 2^-660 (2e-199), so that their products with
// states are. Derivatives go through, as if nothing were cut off: where a state begins as zero, what it would change is
// what somebody asks for. (Singles: runtime/subnormals.hpp.)
#pragma once

#include "solvers/equations/graph.hpp"

namespace hindsight {

Expr kept(Expr value);
Expr kept_derivative(Expr value);

}  // namespace hindsight
