#include "solvers/steppers/reads.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "solvers/equations/parser.hpp"

namespace hindsight {

void for_reads(const KernelSpec& kernel, const std::vector<int>& symbols,
               const std::function<void(const Offset&)>& visit) {
  if (kernel.roots().empty()) return;
  const Graph& graph = kernel.roots().front().graph();
  for (const NodeId id : reachable(kernel.roots())) {
    const Node& node = graph[id];
    const bool is_among = symbols.empty() || std::ranges::count(symbols, int{node.symbol}) > 0;
    if (node.op == Op::field ? is_among : node.op == Op::coordinate && symbols.empty()) visit(node.offset);
  }
}

Reach deepest(const std::vector<const KernelSpec*>& kernels, const std::vector<int>& symbols) {
  Reach most;
  for (const KernelSpec* kernel : kernels)
    for_reads(*kernel, symbols, [&most](const Offset& offset) { most.add(offset); });
  return most;
}

std::vector<const KernelSpec*> pointers(const std::vector<KernelSpec>& kernels) {
  std::vector<const KernelSpec*> all;
  for (const KernelSpec& k : kernels) all.push_back(&k);
  return all;
}

std::vector<std::size_t> noises_read(const Graph& graph, const std::vector<const KernelSpec*>& kernels) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < graph.noises().size(); ++n) {
    const Noise& noise = graph.noises()[n];
    const bool read = std::any_of(kernels.begin(), kernels.end(), [&](const KernelSpec* kernel) {
      const std::vector<Reach> all = reach(kernel->roots());
      return static_cast<std::size_t>(noise.symbol) < all.size() && all[static_cast<std::size_t>(noise.symbol)].read;
    });
    if (read && noise.changes_with_step) found.push_back(n);
  }
  return found;
}

std::array<int, 3> ring_depth(const Model& model, const std::vector<Expr>& expressions) {
  std::array<int, 3> depth{0, 0, 0};
  for (const Reach& r : reach(expressions)) depth = deeper(depth, r.depth);
  for (std::size_t a = 0; a < 3; ++a)
    if (!model.has_walls[a]) depth[a] = 0;
  return depth;
}

bool depends_on_time(const Model& model, const std::vector<Expr>& expressions) {
  for (const NodeId id : reachable(expressions)) {
    const Node& node = (*model.graph)[id];
    if (node.op != Op::scalar) continue;
    const std::string& name = model.graph->scalars()[node.symbol];
    if (name == "t" || name == step_length ||
        std::find(model.series.begin(), model.series.end(), name) != model.series.end())
      return true;
  }
  return false;
}

std::vector<Expr> wall_values(const Model& model) {
  std::vector<Expr> values;
  for (const auto& field : model.walls)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t s = 0; s < 2 && model.has_walls[a]; ++s) values.push_back(field[a][s].value);
  return values;
}

GhostGroup ghosts_for(const KernelSpec& kernel, const std::vector<int>& symbols, const std::vector<FieldWalls>* walls) {
  const Reach r = deepest({&kernel}, symbols);
  return {symbols, r.depth, r.depth, r.corners, walls};
}

std::array<int, 3> add(std::array<int, 3> a, const std::array<int, 3>& b) {
  for (std::size_t i = 0; i < 3; ++i) a[i] += b[i];
  return a;
}

std::array<int, 3> deeper(std::array<int, 3> a, const std::array<int, 3>& b) {
  for (std::size_t i = 0; i < 3; ++i) a[i] = std::max(a[i], b[i]);
  return a;
}

std::pair<int, int> traffic(const KernelSpec& kernel) {
  return traffic({&kernel}, {});
}

std::pair<int, int> traffic(const std::vector<const KernelSpec*>& kernels, const std::set<int>& within) {
  std::map<int, int> reads, writes;  // bytes by symbol
  for (const KernelSpec* const kernel : kernels) {
    if (kernel->roots().empty()) continue;
    const Graph& graph = kernel->roots().front().graph();
    const auto add = [&](std::map<int, int>& to, int symbol) {
      if (!within.contains(symbol)) to[symbol] = static_cast<int>(bytes_of(graph.kind(symbol).element));
    };
    const std::vector<Reach> all = reach(kernel->roots());
    for (std::size_t f = 0; f < all.size(); ++f)
      if (all[f].read) add(reads, static_cast<int>(f));
    for (const KernelSpec::Output& o : kernel->outputs) add(writes, graph.field_index(o.field));
  }
  const auto sum = [](const std::map<int, int>& all) {
    int bytes = 0;
    for (const auto& [symbol, each] : all) bytes += each;
    return bytes;
  };
  return {sum(reads), sum(writes)};
}

}  // namespace hindsight
