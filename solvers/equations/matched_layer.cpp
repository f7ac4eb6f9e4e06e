#include "solvers/equations/matched_layer.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"
#include "solvers/equations/derive.hpp"

namespace hindsight {
namespace {

bool is_derivative(Op op) {
  return op == Op::derivative || op == Op::div_grad || op == Op::upwind;
}

bool holds_derivatives(Expr e) {
  Graph& graph = e.graph();
  return std::ranges::any_of(reachable({e}), [&](NodeId id) { return is_derivative(graph[id].op); });
}

[[noreturn]] void refuse() {
  throw InputError(
      "a pml stretches sums of terms, each a factor times lap(u), a second derivative along an axis or "
      "div(k*grad(u)): this equation has derivatives of another form (a sponge takes any)");
}

/// Takes a sum apart.
class Collector {
 public:
  Collector(std::size_t field, int axis, const Stencils& stencils) : field_(field), axis_(axis), stencils_(stencils) {}

  void collect(Expr e, Expr factor) {
    if (!holds_derivatives(e)) return;
    const Node node = e.node();
    if (is_derivative(node.op)) return take(e, factor);
    const Expr a = e.arg(0);
    if (node.op == Op::neg) return collect(a, -factor);
    if (node.op != Op::add && node.op != Op::sub && node.op != Op::mul && node.op != Op::div) refuse();
    const Expr b = e.arg(1);
    const bool in_a = holds_derivatives(a), in_b = holds_derivatives(b);
    if (node.op == Op::add || node.op == Op::sub) {
      collect(a, factor);
      collect(b, node.op == Op::add ? factor : -factor);
    } else if (node.op == Op::mul && in_a != in_b) {
      collect(in_a ? a : b, factor * (in_a ? b : a));
    } else if (node.op == Op::div && !in_b) {
      collect(a, factor / b);
    } else {
      refuse();
    }
  }

  std::vector<StretchedTerm> terms;

 private:
  void take(Expr e, Expr factor) {
    const Node node = e.node();
    for (int i = 0; i < arity(node.op); ++i)
      if (holds_derivatives(e.arg(i))) refuse();
    if (node.op == Op::div_grad) {
      const Expr k = e.arg(0), u = e.arg(1);
      add(factor, k * discretise({derivative(u, axis_, 1)}, stencils_)[0], flux_difference(k, u, axis_, stencils_));
      return;
    }
    if (node.op != Op::derivative || node.symbol != 2) refuse();
    if (node.axis != axis_) return;
    const std::vector<Expr> both = discretise({derivative(e.arg(0), axis_, 1), e}, stencils_);
    add(factor, both[0], both[1]);
  }

  void add(Expr factor, Expr first, Expr second) {
    for (StretchedTerm& term : terms)
      if (term.factor.same_as(factor)) {
        term.first = term.first + first;
        term.second = term.second + second;
        return;
      }
    terms.push_back({field_, factor, first, second});
  }

  std::size_t field_;
  int axis_;
  const Stencils& stencils_;
};

}  // namespace

double MatchedLayer::largest_damping(double of_speed) const {
  const double left = std::pow(10.0, -(2.0 + static_cast<double>(cells) / 10.0));
  return -1.5 * std::log(left) * of_speed / width;
}

double MatchedLayer::shift(double of_speed) const {
  const auto n = static_cast<double>(cells);
  return std::max(0.1, 4.0 / (n * n)) * of_speed / width;
}

std::vector<StretchedTerm> stretched_terms(Expr e, std::size_t field, int axis, const Stencils& stencils) {
  Collector collector(field, axis, stencils);
  collector.collect(e, e.graph().constant(1.0));
  return std::move(collector.terms);
}

/// A second difference sum w_s u(x + s h) of a long wave is -k^2 u times the sum of w_s (s h)^2 / 2.
Expr squared_speed(const StretchedTerm& term, const std::string& field, int axis, double spacing) {
  Graph& graph = term.factor.graph();
  Partials partials({term.second});
  Expr sum = graph.constant(0.0);
  for (const NodeId id : reachable({term.second})) {
    const Node node = graph[id];
    if (node.op != Op::field || node.symbol != graph.field_index(field)) continue;
    const double distance = static_cast<double>(node.offset[static_cast<std::size_t>(axis)]) * spacing;
    sum = sum + (0.5 * distance * distance) * partials.with_respect_to(field, node.offset, "@one")[0];
  }
  return term.factor * sum;
}

}  // namespace hindsight
