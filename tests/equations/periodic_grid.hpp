// A small periodic grid on which graphs are evaluated with the reference interpreter.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "solvers/equations/interpret.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight::testing {

using Values = std::vector<double>;

inline double dot(const Values& a, const Values& b) {
  long double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return static_cast<double>(sum);
}

struct PeriodicGrid {
  std::array<int, 3> cells{1, 1, 1};
  std::array<double, 3> spacing{1.0, 1.0, 1.0};
  bool coordinates_repeat = true;  ///< across the period, as those of a Grid do; or they go on beyond it
  std::map<std::string, Values> fields;
  std::map<std::string, double> scalars;

  std::size_t size() const { return static_cast<std::size_t>(cells[0] * cells[1] * cells[2]); }

  static int wrap(int i, int n) { return ((i % n) + n) % n; }

  double coordinate(int axis, int i) const { return (i + 0.5) * spacing[static_cast<std::size_t>(axis)]; }

  template <class Function>
  Values sample(Function f) const {
    Values values;
    for (int k = 0; k < cells[2]; ++k)
      for (int j = 0; j < cells[1]; ++j)
        for (int i = 0; i < cells[0]; ++i) values.push_back(f(coordinate(0, i), coordinate(1, j), coordinate(2, k)));
    return values;
  }

  Values random(unsigned seed, double from, double to) const {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(from, to);
    return sample([&](double, double, double) { return uniform(engine); });
  }

  /// One array per root.
  std::vector<Values> evaluate(const std::vector<Expr>& roots) const {
    std::vector<Values> out(roots.size());
    if (roots.empty()) return out;
    const Graph& graph = roots[0].graph();
    int at[3];
    const Bindings bindings{
        [&](int symbol) { return scalars.at(graph.scalars()[static_cast<std::size_t>(symbol)]); },
        [&](int symbol, Offset o) {
          const int i = wrap(at[0] + o[0], cells[0]), j = wrap(at[1] + o[1], cells[1]),
                    k = wrap(at[2] + o[2], cells[2]);
          return fields.at(graph.fields()[static_cast<std::size_t>(symbol)])[static_cast<std::size_t>(
              i + cells[0] * (j + cells[1] * k))];
        },
        [&](int axis, int offset) {
          const int i = at[axis] + offset;
          return coordinate(axis, coordinates_repeat ? wrap(i, cells[static_cast<std::size_t>(axis)]) : i);
        }};
    for (at[2] = 0; at[2] < cells[2]; ++at[2])
      for (at[1] = 0; at[1] < cells[1]; ++at[1])
        for (at[0] = 0; at[0] < cells[0]; ++at[0]) {
          const std::vector<double> values = interpret(roots, bindings);
          for (std::size_t r = 0; r < roots.size(); ++r) out[r].push_back(values[r]);
        }
    return out;
  }

  Values evaluate(Expr root) const { return evaluate(std::vector<Expr>{root})[0]; }
};

/// Value of an expression of scalars (and fields, at offset 0) given by name.
inline double value_of(Expr e, const std::map<std::string, double>& values) {
  PeriodicGrid grid;
  grid.scalars = values;
  for (const auto& [name, value] : values) grid.fields[name] = {value};
  return grid.evaluate(e)[0];
}

}  // namespace hindsight::testing
