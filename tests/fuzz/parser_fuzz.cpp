// Any text either parses, discretises, differentiates and prints, or is refused with an InputError.
#include <cstdint>
#include <string>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/discretise.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/not_finite.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/equations/print.hpp"
#include "solvers/equations/simplify.hpp"

namespace {

using namespace hindsight;

int operators_in(Expr e) {
  int count = 0;
  for (NodeId id : reachable({e})) {
    const Op op = e.graph()[id].op;
    if (op == Op::derivative || op == Op::div_grad || op == Op::upwind) ++count;
  }
  return count;
}

/// The first line is the expression; each further line the body of a function f(s), g(s), h2(s, r), q().
void parse_and_use(const std::string& text) {
  std::vector<std::string> lines(5);
  std::size_t line = 0;
  for (char c : text) {
    if (c == '\n' && line + 1 < lines.size()) {
      ++line;
    } else {
      lines[line] += c;
    }
  }
  Scope scope;
  scope.dimensions = 2;
  scope.scalars = {"a", "t"};
  scope.fields = {"u", "v"};
  scope.spacing = {0.1, 0.2};
  scope.step = true;
  scope.random = Scope::Random::of_cell_and_step;
  scope.functions["f"] = {"f", {"s"}, lines[1], {"case.yaml", 2, 1}};
  scope.functions["g"] = {"g", {"s"}, lines[2], {"case.yaml", 3, 1}};
  scope.functions["h2"] = {"h2", {"s", "r"}, lines[3], {"case.yaml", 4, 1}};
  scope.functions["q"] = {"q", {}, lines[4], {"case.yaml", 5, 1}};
  Graph graph;
  const Expr e = parse(graph, lines[0], scope, {"case.yaml", 1, 1});
  (void)to_text(e);
  if (graph.size() > 300 || operators_in(e) > 5) return;  // nested operators grow fast: keep the rounds short
  const std::vector<Expr> right = discretise({e}, {2, {0.1, 0.2, 1.0}, 2, FaceMean::arithmetic});
  if (graph.size() > 20000) return;
  const std::vector<Expr> dot = tangent(right, {{true, "u", "du"}, {false, "a", "da"}});
  const Adjoint bar = adjoint(right, {graph.field("lambda")}, {"u", "v"}, {"a"});
  std::vector<Expr> all = fuse_multiply_add({right[0], dot[0], bar.fields[0], bar.fields[1], bar.scalars[0]});
  const Bindings values{[](int) { return 0.5; }, [](int, Offset) { return 0.25; }, [](int, int) { return 1.0; }};
  (void)interpret(all, values);
  if (const auto bad = find_not_finite(right[0], values)) (void)bad->text();
  (void)flops(all);
}

/// What is an expression of numbers has a value, finite or not.
void evaluate(const std::string& text) {
  try {
    (void)parse_number(text);
  } catch (const InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  evaluate(text);
  try {
    parse_and_use(text);
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
