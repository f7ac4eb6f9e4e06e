// Expressions for people.
#pragma once

#include <string>
#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

/// Readable infix text with as few parentheses as needed; neighbours as u[x+1], u[x-1,y+1]; common factors of a sum of
/// products are written once where that is easy to see.
std::string to_text(Expr e);

/// Floating-point operations per cell (fma counts two, functions one), shared nodes counted once; work that does not
/// depend on the cell is not counted.
int flops(const std::vector<Expr>& roots);

}  // namespace hindsight
