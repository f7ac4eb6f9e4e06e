// Values that a kernel needs at many neighbours: computed once, and kept in buffers of a few rows.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "solvers/equations/kernel.hpp"

namespace hindsight {

/// The gather of a stencil with variable coefficients reads, at each neighbour, the multiplier times what is known
/// there: the same expression, shifted. Kernels walk through rows; so each row of it is computed once, when the first
/// cell needs it, and the rows within reach are kept. The operations of a cell stay the same, and so do its bits.
struct RowBuffer {
  Expr value;                           ///< of the cell itself
  std::map<NodeId, Offset> readers;     ///< the nodes of the kernel that are this value at an offset
  std::array<int, 2> x{0, 0}, y{0, 0};  ///< the least and the largest of the offsets
};

/// The buffers that pay: what each of them saves is more than writing and reading it takes. Of kernels without sums,
/// which walk through whole rows, and of values that neighbours in x and y read alone.
std::vector<RowBuffer> row_buffers(const KernelSpec& kernel);

}  // namespace hindsight
