// Simplification that keeps kernels that must agree bit-identical: every rule looks at a node and its arguments only,
// never at who else uses it, so an expression simplifies alike in every kernel it appears in.
#pragma once

#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

/// Local algebra used by Graph::make. Constant folding, but of what is not finite; x+0, x-0, 0-x, x*1, x*0 (zero),
/// x*-1, x/1, 0/x, --x, a+(-b), a-(-b); x/c becomes x*(1/c) only when 1/c is exact (a power of two); constants move to
/// the left of products and sums; c1*(c2*x) is (c1*c2)*x; where(const, a, b); where(c, a, a); masks lift out of
/// products and quotients, where(c, a, 0)*b = where(c, a*b, 0), so that a masked branch that is not finite stays
/// masked. Returns an invalid Expr when no rule applies.
Expr simplify_local(Graph& graph, Op op, const std::vector<Expr>& args, int axis, int symbol);

/// a*b + c, c + a*b, a*b - c and c - a*b become fma nodes (when both sides are products the right one is fused:
/// in sums that grow it is known last).
/// Structural: independent of how often a product is used. Run once on a kernel's roots, after all derivatives.
std::vector<Expr> fuse_multiply_add(const std::vector<Expr>& roots);

}  // namespace hindsight
