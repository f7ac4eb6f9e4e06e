// Random expressions whose values are known without the graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "solvers/equations/graph.hpp"
#include "solvers/equations/interpret.hpp"

namespace hindsight::testing {

/// An expression, and its value at RandomGraph::values() found by plain arithmetic while it was built.
struct Twin {
  Expr expr;
  double value = 0.0;
};

/// Builds from fields u, v (read at up to `reach` cells away), scalars p, q and constants. Values stay moderate.
class RandomGraph {
 public:
  RandomGraph(Graph& graph, unsigned seed, int reach) : graph_(graph), engine_(seed), reach_(reach) {}

  const std::map<std::string, double>& values() const { return values_; }

  std::vector<Twin> twins(int operations) {
    std::vector<Twin> all;
    for (const auto& [name, value] : values_) all.push_back({leaf(name), value});
    for (double c : {0.0, 1.0, -1.0, 2.0, 0.3}) all.push_back({graph_.constant(c), c});
    for (int i = 0; i < operations; ++i) all.push_back(combine(all));
    return all;
  }

  Expr expression(int operations) { return twins(operations).back().expr; }

 private:
  Expr leaf(const std::string& name) {
    if (name == "p" || name == "q") return graph_.scalar(name);
    const auto o = [&] { return static_cast<std::int8_t>(below(2 * reach_ + 1) - reach_); };
    return graph_.field(name, reach_ == 0 ? Offset{0, 0, 0} : Offset{o(), o(), 0});
  }

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }

  Twin combine(const std::vector<Twin>& all) {
    static const std::vector<Op> ops = {Op::neg,   Op::add,     Op::sub,     Op::mul,         Op::mul,        Op::add,
                                        Op::div,   Op::minimum, Op::maximum, Op::absolute,    Op::sqrt,       Op::exp,
                                        Op::sin,   Op::cos,     Op::tanh,    Op::less,        Op::less_equal, Op::equal,
                                        Op::where, Op::where,   Op::sign,    Op::logical_not, Op::logical_and};
    for (;;) {
      const Op op = ops[static_cast<std::size_t>(below(static_cast<int>(ops.size())))];
      std::vector<Expr> args;
      double v[3] = {0, 0, 0};
      for (int i = 0; i < arity(op); ++i) {
        // later ones more often, so that expressions get deep
        const std::size_t last = all.size() - 1;
        const auto pick = std::min(last, static_cast<std::size_t>(std::max(below(static_cast<int>(last) + 1),
                                                                           below(static_cast<int>(last) + 1))));
        args.push_back(all[pick].expr);
        v[i] = all[pick].value;
      }
      const double value = apply(op, v[0], v[1], v[2]);
      const bool near_tie =
          (op == Op::less || op == Op::less_equal || op == Op::equal || op == Op::minimum || op == Op::maximum) &&
          std::fabs(v[0] - v[1]) < 1e-3;
      const bool near_zero = (op == Op::absolute || op == Op::sign || op == Op::sqrt) && std::fabs(v[0]) < 1e-3;
      const bool divides = op == Op::div && std::fabs(v[1]) < 1e-2;
      if (!std::isfinite(value) || std::fabs(value) > 50 || near_tie || near_zero || divides) continue;
      return {graph_.make(op, args), value};
    }
  }

  Graph& graph_;
  std::mt19937_64 engine_;
  int reach_;
  std::map<std::string, double> values_{{"u", 0.7}, {"v", -1.3}, {"p", 0.4}, {"q", 2.5}};
};

}  // namespace hindsight::testing
