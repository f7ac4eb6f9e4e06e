#include "solvers/steppers/dense/cell_systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/dense/dense_lu.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 1;

std::string slope_of(const std::string& field) {
  return "slope(" + field + ")";
}

bool read_any(const Graph& graph, const std::vector<Expr>& expressions, const std::vector<int>& fields) {
  const std::vector<NodeId> nodes = reachable(expressions);
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = graph[id];
    return node.op == Op::field && std::find(fields.begin(), fields.end(), int{node.symbol}) != fields.end();
  });
}

}  // namespace

CellSystems::CellSystems(const Model& model, const Active& active)
    : model_(model), size_(static_cast<int>(model.fields.size())), kernels_(model, active, "dense_") {
  Graph& graph = *model.graph;
  for (const std::string& field : model.fields) {
    state_.push_back(graph.field(StageNames::stage(field, stage)).node().symbol);
    slope_.push_back(graph.field(slope_of(field)).node().symbol);
  }
  KernelRequest request;
  request.names.value = "rhs_jacobian";
  request.stage = stage;
  request.expressions = at_stage(model, model.right_hand_sides, std::to_string(stage));
  for (const std::string& field : model.fields) request.states.push_back(StageNames::stage(field, stage));
  derive(request);
  std::vector<int> arrays = slope_;
  for (const Entry& entry : entries_)
    if (entry.symbol >= 0) arrays.push_back(entry.symbol);
  request.epilogue.values = [&graph, arrays](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      kernel.outputs.push_back({graph.fields()[static_cast<std::size_t>(arrays[i])], values[i]});
  };
  kernels_.add(std::move(request));
  kernels_.derive({});
  time_.emplace(model, active, stage, 0);
  length_ = graph.scalar_index(step_length);
}

/// Adds the entries of J behind the slopes.
void CellSystems::derive(KernelRequest& request) {
  Graph& graph = *model_.graph;
  Partials slopes(request.expressions);
  std::vector<Expr> partials;
  for (int c = 0; c < size_; ++c) {
    const std::string& state = request.states[static_cast<std::size_t>(c)];
    const std::vector<Expr> column = slopes.with_respect_to(state, StageNames::dot(state));
    for (int r = 0; r < size_; ++r) {
      const Expr partial = column[static_cast<std::size_t>(r)];
      if (partial.is_constant(0.0)) continue;
      Entry entry{static_cast<std::size_t>(r + size_ * c)};
      if (partial.is_constant()) {
        entry.constant = partial.node().value;
      } else {
        entry.symbol = graph.field(fmt::format("jacobian({},{})", r, c)).node().symbol;
        partials.push_back(partial);
      }
      entries_.push_back(entry);
    }
  }
  is_linear_ = !read_any(graph, partials, state_);
  request.expressions.insert(request.expressions.end(), partials.begin(), partials.end());
}

void CellSystems::prepare(const Grid& grid, Tables& tables, bool factors) {
  std::vector<int> arrays;
  for (const Entry& entry : entries_)
    if (entry.symbol >= 0) arrays.push_back(entry.symbol);
  const Layout& layout = grid.layout();
  field_stride_ = layout.field_stride;
  grid.communicator().together([&] {
    tables.allocate(arrays);
    const Index3& cells = grid.cells();
    for (std::int64_t k = 0; k < cells[2]; ++k)
      for (std::int64_t j = 0; j < cells[1]; ++j)
        for (std::int64_t i = 0; i < cells[0]; ++i) places_.push_back(layout.at(i, j, k));
    const auto n = static_cast<std::size_t>(size_);
    if (!factors) return;
    factors_.resize(places_.size() * n * n);
    pivots_.resize(places_.size() * n);
  });
  for (Entry& entry : entries_)
    if (entry.symbol >= 0) entry.cells = tables.field(entry.symbol) - layout.origin;
  column_.resize(static_cast<std::size_t>(size_));
  kernels_.prepare(grid, tables, {}, KernelSet::Libraries::one, longest_beside_systems);
}

void CellSystems::evaluate(Tables& tables, const SeriesData& series, StepTime at, double* u, double* slope) {
  if (length_ >= 0) tables.scalar(length_) = at.h;
  time_->set(tables, series, at.t);
  tables.fill_noise(kernels_.noise(Direction::forward), at.index);
  tables.bind_state(state_, u);
  tables.bind_state(slope_, slope);
  kernels_.kernels().front().run_value(tables);
}

void CellSystems::matrix(std::int64_t place, double a, double* out) const {
  const auto n = static_cast<std::size_t>(size_);
  std::fill(out, out + n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) out[i * (n + 1)] = 1.0;
  for (const Entry& entry : entries_)
    out[entry.at] -= a * (entry.cells != nullptr ? entry.cells[place] : entry.constant);
}

void CellSystems::factorise(double a) {
  const auto n = static_cast<std::size_t>(size_);
  failed_place_ = -1;
  for (std::size_t cell = 0; cell < places_.size(); ++cell) {
    double* const factors = factors_.data() + cell * n * n;
    matrix(places_[cell], a, factors);
    if (hindsight::factorise(size_, factors, pivots_.data() + cell * n)) continue;
    std::fill_n(factors, n * n, std::numeric_limits<double>::quiet_NaN());
    if (failed_place_ < 0) failed_place_ = places_[cell];
  }
}

std::string CellSystems::failure() const {
  if (failed_place_ < 0) return "";
  for (const Entry& entry : entries_) {
    if (entry.cells == nullptr || std::isfinite(entry.cells[failed_place_])) continue;
    const std::size_t fields = model_.fields.size();
    return fmt::format(
        "the derivative of dt({}) with respect to {} is not finite at the state before, where a Rosenbrock method "
        "needs it; methods that solve for their stages (sdirk3, esdirk4) do not",
        model_.fields[entry.at % fields], model_.fields[entry.at / fields]);
  }
  return "the matrix of the step, made of the equations' derivatives at the state before, is singular";
}

template <class Solve>
void CellSystems::at_every_cell(double* x, Solve solve_at) {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t cell = 0; cell < places_.size(); ++cell) {
    double* const at = x + places_[cell];
    for (std::size_t f = 0; f < n; ++f) column_[f] = at[static_cast<std::int64_t>(f) * field_stride_];
    solve_at(size_, factors_.data() + cell * n * n, pivots_.data() + cell * n, column_.data());
    for (std::size_t f = 0; f < n; ++f) at[static_cast<std::int64_t>(f) * field_stride_] = column_[f];
  }
}

void CellSystems::solve(double* x) {
  at_every_cell(x, hindsight::solve);
}

void CellSystems::solve_transposed(double* x) {
  at_every_cell(x, hindsight::solve_transposed);
}

}  // namespace hindsight
