// The operators of a model, applied to points of the whole grid.
#pragma once

#include <gtest/gtest.h>

#include "runtime/ordered_sum.hpp"
#include "solvers/grid/halo_exchange.hpp"
#include "solvers/steppers/model_operators.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "tests/steppers/wall_model.hpp"

namespace hindsight::test {

/// A point in the space of state and parameters, a direction there, or a derivative; on the whole grid.
struct Point {
  std::vector<Cells> state, parameter_fields;
  std::vector<double> scalars;
  std::vector<std::vector<double>> knots;
};

template <class Visit>
void for_each_pair(const Point& a, const Point& b, Visit visit) {
  const auto all = [&](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) visit(x[i], y[i]);
  };
  const auto lists = [&](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) all(x[i], y[i]);
  };
  lists(a.state, b.state);
  lists(a.parameter_fields, b.parameter_fields);
  all(a.scalars, b.scalars);
  lists(a.knots, b.knots);
}

inline double dot(const Point& a, const Point& b) {
  long double sum = 0.0L;
  for_each_pair(a, b, [&](double x, double y) { sum += static_cast<long double>(x) * y; });
  return static_cast<double>(sum);
}

inline double dot(const std::vector<Cells>& a, const std::vector<Cells>& b) {
  return dot(Point{a, {}, {}, {}}, Point{b, {}, {}, {}});
}

inline Point some_point(const WallModel& of, double phase) {
  Point point;
  for (std::size_t f = 0; f < of.model.fields.size(); ++f)
    point.state.push_back(of.some_cells(phase + 1.3 * static_cast<double>(f)));
  for (std::size_t k = 0; k < of.model.parameter_fields.size(); ++k)
    point.parameter_fields.push_back(of.some_cells(2 * phase + static_cast<double>(k)));
  for (std::size_t p = 0; p < of.scalars.size(); ++p) point.scalars.push_back(std::cos(phase + static_cast<double>(p)));
  for (const Series& q : of.series) {
    point.knots.emplace_back();
    for (std::size_t k = 0; k < q.values.size(); ++k)
      point.knots.back().push_back(std::sin(phase + 2.1 * static_cast<double>(k)));
  }
  return point;
}

/// The operators of a model on a communicator, on a machine; what is given and returned is of the whole grid.
class Applied {
 public:
  Applied(const WallModel& of, MPI_Comm comm, const Derivatives& wanted, Machine& machine = Machine::host())
      : of_(of),
        operators_(of.model, of.active, wanted),
        grid_(of.axes, Communicator(comm), operators_.halo(), machine),
        symbols_(*of.model.graph, of.active),
        tables_(*of.model.graph, grid_, operators_.sums()) {
    for (const auto& arrays : {symbols_.fields, symbols_.dots, symbols_.bars}) tables_.allocate(arrays);
    for (Memory& memory : states_) memory = Memory(state_doubles(grid_, of.model.fields.size()), machine);
    operators_.prepare(grid_, tables_, of.series);
    for (std::size_t p = 0; p < of.scalars.size(); ++p) {
      scalar_sums_.emplace_back(grid_.local_rows(), machine);
      tables_.bind_sum(static_cast<int>(p), scalar_sums_.back().data());
    }
    for (std::size_t q = 0; q < of.series.size(); ++q) {
      knot_sums_.emplace_back(grid_.local_rows() * static_cast<std::int64_t>(of.series[q].values.size()), machine);
      operators_.series().bind_sums(q, knot_sums_.back().data());
    }
  }

  std::vector<Cells> rhs(const Point& at, StepTime time) {
    put(at);
    operators_.rhs(tables_, time, states_[0].data(), states_[1].data());
    return state(states_[1]);
  }

  std::vector<Cells> tangent(const Point& at, StepTime time, const Point& v) {
    put(at);
    put_direction(v);
    operators_.tangent(tables_, time, states_[0].data(), states_[2].data(), states_[1].data());
    return state(states_[1]);
  }

  /// Adds to what was summed up before.
  Point adjoint(const Point& at, StepTime time, const std::vector<Cells>& w) {
    put(at);
    put_state(w, states_[2]);
    operators_.adjoint(tables_, time, states_[0].data(), states_[2].data(), states_[1].data());
    Point found{state(states_[1]), {}, std::vector<double>(of_.scalars.size(), 0.0), {}};
    for (const Series& q : of_.series) found.knots.emplace_back(q.values.size(), 0.0);
    operators_.kernels().add_sums(found.scalars, found.knots);
    for (std::size_t p = 0; p < found.scalars.size(); ++p) found.scalars[p] += grid_sum(grid_, scalar_sums_[p].data());
    for (std::size_t q = 0; q < found.knots.size(); ++q)
      for (std::size_t k = 0; k < found.knots[q].size(); ++k)
        found.knots[q][k] += grid_sum(grid_, knot_sums_[q].data() + static_cast<std::int64_t>(k) * grid_.local_rows());
    for (const int bar : symbols_.bars) found.parameter_fields.push_back(cells(tables_.field(bar)));
    return found;
  }

  ModelOperators& operators() { return operators_; }

 private:
  struct Symbols {
    Symbols(Graph& graph, const Active& active) {
      const auto symbol = [&](const std::string& name) { return int{graph.field(name).node().symbol}; };
      for (const std::string& name : active.parameter_fields) {
        fields.push_back(symbol(name));
        dots.push_back(symbol(StageNames::dot(name)));
        bars.push_back(symbol(StageNames::bar(name)));
      }
    }
    std::vector<int> fields, dots, bars;
  };

  void put(const Point& at) {
    put_state(at.state, states_[0]);
    for (std::size_t k = 0; k < symbols_.fields.size(); ++k) put_field(at.parameter_fields[k], symbols_.fields[k]);
    for (std::size_t p = 0; p < at.scalars.size(); ++p) put_scalar(of_.model.scalars[p], at.scalars[p]);
    for (std::size_t q = 0; q < at.knots.size(); ++q) operators_.series().set_values(q, at.knots[q]);
  }

  void put_direction(const Point& v) {
    put_state(v.state, states_[2]);
    for (std::size_t k = 0; k < symbols_.dots.size(); ++k) put_field(v.parameter_fields[k], symbols_.dots[k]);
    for (std::size_t p = 0; p < v.scalars.size(); ++p) put_scalar(StageNames::dot(of_.model.scalars[p]), v.scalars[p]);
    std::vector<Series> directions = of_.series;
    for (std::size_t q = 0; q < directions.size(); ++q) directions[q].values = v.knots[q];
    operators_.series().set_directions(directions);
  }

  void put_scalar(const std::string& name, double value) {
    if (const int symbol = of_.model.graph->scalar_index(name); symbol >= 0) tables_.scalar(symbol) = value;
  }

  void put_cells(const Cells& all, double* cell) {
    const Index3 &n = grid_.cells(), &first = grid_.first(), &global = grid_.global_cells();
    Cells own;
    for (std::int64_t k = 0; k < n[2]; ++k)
      for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i = 0; i < n[0]; ++i)
          own.push_back(
              all[static_cast<std::size_t>(first[0] + i + global[0] * (first[1] + j + global[1] * (first[2] + k)))]);
    unpack_cells(grid_, own.data(), CellArray(cell));
  }

  void put_state(const std::vector<Cells>& all, const Memory& state) {
    for (std::size_t f = 0; f < all.size(); ++f) put_cells(all[f], field(state, f));
  }

  void put_field(const Cells& all, int symbol) {
    put_cells(all, tables_.field(symbol));
    HaloExchange exchange(grid_, 1, grid_.layout().halo, true);
    exchange.start({tables_.cells(symbol)}, plain_walls(1, WallRule::slope));
    exchange.finish({tables_.cells(symbol)}, plain_walls(1, WallRule::slope));
  }

  double* field(const Memory& state, std::size_t f) const {
    return state.data() + grid_.layout().origin + static_cast<std::int64_t>(f) * grid_.layout().field_stride;
  }

  Cells cells(const double* cell) const {
    const Index3 &n = grid_.cells(), &first = grid_.first(), &global = grid_.global_cells();
    Cells own(static_cast<std::size_t>(grid_.interior().cells())), all(of_.cells(), 0.0);
    pack_cells(grid_, ConstCellArray(cell), own.data());
    if (grid_.dimensions() == 0) return own;  // every rank has all of it
    std::size_t next = 0;
    for (std::int64_t k = 0; k < n[2]; ++k)
      for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i = 0; i < n[0]; ++i)
          all[static_cast<std::size_t>(first[0] + i + global[0] * (first[1] + j + global[1] * (first[2] + k)))] =
              own[next++];
    grid_.communicator().sum(all);
    return all;
  }

  std::vector<Cells> state(const Memory& memory) const {
    std::vector<Cells> all;
    for (std::size_t f = 0; f < of_.model.fields.size(); ++f) all.push_back(cells(field(memory, f)));
    return all;
  }

  const WallModel& of_;
  ModelOperators operators_;
  Grid grid_;
  Symbols symbols_;
  Tables tables_;
  std::array<Memory, 3> states_;
  std::vector<Memory> scalar_sums_, knot_sums_;
};

}  // namespace hindsight::test
