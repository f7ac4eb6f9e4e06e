// Models from text with walls of every rule, and their right-hand sides by the interpreter on the whole grid.
#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "solvers/equations/discretise.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight::test {

/// One array of the whole grid, x fastest.
using Cells = std::vector<double>;

/// A wall's rule, and its value as text.
struct WallText {
  WallRule rule = WallRule::value;
  std::string value = "0";
};

struct ModelText {
  std::string name;
  std::vector<Axis> axes = {};
  std::vector<std::pair<std::string, std::string>> equations;      ///< field, right-hand side
  std::vector<std::array<std::array<WallText, 2>, 3>> walls = {};  ///< per field; none on periodic grids
  std::vector<std::pair<std::string, double>> scalars = {};        ///< all active
  std::vector<Series> series = {};                                 ///< all active
  std::vector<std::string> parameter_fields = {};                  ///< all active
  int order = 2;
};

inline void PrintTo(const ModelText& text, std::ostream* out) {
  *out << text.name;
}

/// The model of a text, with values that tests give its state and parameters.
struct WallModel {
  explicit WallModel(const ModelText& text) : axes(text.axes), series(text.series) {
    Scope scope;
    scope.dimensions = model.dimensions = static_cast<int>(axes.size());
    scope.step = true;
    scope.scalars = {"t"};
    Stencils stencils;
    stencils.dimensions = model.dimensions;
    stencils.order = text.order;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      stencils.spacing[a] = axes[a].spacing();
      model.has_walls[a] = !axes[a].periodic;
    }
    for (const auto& [name, value] : text.scalars) {
      model.scalars.push_back(name);
      scalars.push_back(value);
    }
    for (const Series& q : series) model.series.push_back(q.name);
    model.parameter_fields = text.parameter_fields;
    active = {model.scalars, model.series, model.parameter_fields};
    scope.scalars.insert(scope.scalars.end(), model.scalars.begin(), model.scalars.end());
    scope.scalars.insert(scope.scalars.end(), model.series.begin(), model.series.end());
    Graph& graph = *model.graph;
    for (const auto& walls : text.walls) {  // before fields are known: values are of scalars and coordinates
      model.walls.emplace_back();
      for (std::size_t a = 0; a < axes.size(); ++a)
        for (std::size_t s = 0; s < 2; ++s)
          model.walls.back()[a][s] = {walls[a][s].rule, parse(graph, walls[a][s].value, scope, {})};
    }
    for (const auto& equation : text.equations) model.fields.push_back(equation.first);
    scope.fields = model.fields;
    scope.fields.insert(scope.fields.end(), model.parameter_fields.begin(), model.parameter_fields.end());
    for (const auto& equation : text.equations)
      model.right_hand_sides.push_back(discretise({parse(graph, equation.second, scope, {})}, stencils)[0]);
  }

  std::size_t cells() const {
    std::size_t count = 1;
    for (const Axis& axis : axes) count *= static_cast<std::size_t>(axis.cells);
    return count;
  }
  /// Smooth values between 1/2 and 3/2 that differ with the phase.
  Cells some_cells(double phase) const {
    Cells values(cells());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 + 0.5 * std::sin(phase + 0.9 * double(i));
    return values;
  }

  Model model;
  Active active;
  std::vector<Axis> axes;
  std::vector<double> scalars;
  std::vector<Series> series;
};

/// F of a state of the whole grid, by the interpreter, cell by cell; ghosts by the formulas of boundary.hpp.
class InterpretedModel {
 public:
  InterpretedModel(const WallModel& of, const std::vector<Cells>& parameter_fields, double t, double h)
      : of_(of), parameter_fields_(parameter_fields), t_(t), h_(h) {
    for (std::size_t a = 0; a < of.axes.size(); ++a) n_[a] = of.axes[a].cells;
  }

  std::vector<Cells> rhs(const std::vector<Cells>& state) const {
    std::vector<Cells> all(state.size());
    for (std::int64_t k = 0; k < n_[2]; ++k)
      for (std::int64_t j = 0; j < n_[1]; ++j)
        for (std::int64_t i = 0; i < n_[0]; ++i) {
          const std::vector<double> f = interpret(of_.model.right_hand_sides, bindings(state, {i, j, k}));
          for (std::size_t e = 0; e < f.size(); ++e) all[e].push_back(f[e]);
        }
    return all;
  }

 private:
  static std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }

  Bindings bindings(const std::vector<Cells>& state, Index3 cell) const {
    const Graph& graph = *of_.model.graph;
    Bindings at;
    at.scalar = [&](int symbol) { return scalar(graph.scalars()[static_cast<std::size_t>(symbol)]); };
    at.field = [&, cell](int symbol, Offset offset) {
      const std::string& name = graph.fields()[static_cast<std::size_t>(symbol)];
      const Index3 there{cell[0] + offset[0], cell[1] + offset[1], cell[2] + offset[2]};
      const std::size_t f = index_of(of_.model.fields, name);
      if (f < of_.model.fields.size()) return value(state[f], &f, there);
      return value(parameter_fields_[index_of(of_.model.parameter_fields, name)], nullptr, there);
    };
    at.coordinate = [this, cell](int axis, int offset) {
      return coordinate(static_cast<std::size_t>(axis), cell[static_cast<std::size_t>(axis)] + offset);
    };
    return at;
  }

  double scalar(const std::string& name) const {
    if (name == "t") return t_;
    if (name == step_length) return h_;
    const std::size_t p = index_of(of_.model.scalars, name);
    return p < of_.scalars.size() ? of_.scalars[p] : of_.series[index_of(of_.model.series, name)].at(t_);
  }

  double coordinate(std::size_t a, std::int64_t i) const {
    if (of_.axes[a].periodic) i = (i % n_[a] + n_[a]) % n_[a];
    return of_.axes[a].from + (static_cast<double>(i) + 0.5) * of_.axes[a].spacing();
  }

  /// Of a cell or a ghost: axes are folded back from the last to the first, as filling goes from the first to the last.
  /// @param field of the state; null for a parameter field, which is mirrored.
  double value(const Cells& cells, const std::size_t* field, Index3 at) const {
    for (std::size_t a = of_.axes.size(); a-- > 0;) {
      if (at[a] >= 0 && at[a] < n_[a]) continue;
      Index3 inside = at;
      if (of_.axes[a].periodic) {
        inside[a] = (at[a] % n_[a] + n_[a]) % n_[a];
        return value(cells, field, inside);
      }
      const std::size_t side = at[a] < 0 ? 0 : 1;
      const std::int64_t m = side == 0 ? -1 - at[a] : at[a] - n_[a];
      inside[a] = side == 0 ? m : n_[a] - 1 - m;
      const double mirrored = value(cells, field, inside);
      if (field == nullptr) return mirrored;
      const ModelWall& wall = of_.model.walls[*field][a][side];
      if (wall.rule == WallRule::zero) return 0.0;
      const double e = wall_value(wall, a, side, at);
      if (wall.rule == WallRule::value) return 2 * e - mirrored;
      return mirrored + (side == 0 ? -1 : 1) * static_cast<double>(2 * m + 1) * of_.axes[a].spacing() * e;
    }
    return cells[static_cast<std::size_t>(at[0] + n_[0] * (at[1] + n_[1] * at[2]))];
  }

  double wall_value(const ModelWall& wall, std::size_t axis, std::size_t side, const Index3& at) const {
    Bindings bindings;
    bindings.scalar = [this, &graph = *of_.model.graph](int symbol) {
      return scalar(graph.scalars()[static_cast<std::size_t>(symbol)]);
    };
    bindings.coordinate = [&](int a, int) {
      const auto along = static_cast<std::size_t>(a);
      if (along == axis) return side == 0 ? of_.axes[axis].from : of_.axes[axis].to;
      return coordinate(along, at[along]);
    };
    return interpret({wall.value}, bindings)[0];
  }

  const WallModel& of_;
  const std::vector<Cells>& parameter_fields_;
  double t_, h_;
  Index3 n_{1, 1, 1};
};

}  // namespace hindsight::test
