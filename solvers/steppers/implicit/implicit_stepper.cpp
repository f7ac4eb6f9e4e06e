#include "solvers/steppers/implicit/implicit_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "solvers/steppers/implicit/jacobian_entries.hpp"

namespace hindsight {

ImplicitStepper::ImplicitStepper(const Model& model, const Active& active, Wants wants, int scratch,
                                 bool factors_forward)
    : model_(model),
      active_(active),
      wants_(std::move(wants)),
      operators_(model, active_, {wants_.adjoint, wants_.tangent}),
      systems_(make_stage_systems(model_, active_, operators_, wants_.petsc)),
      scratch_states_(scratch),
      factors_(factors_forward || wants_.adjoint || wants_.tangent) {}

void ImplicitStepper::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  grid_ = &grid;
  operators_.prepare(grid, tables, series, longest_beside_systems);
  systems_->prepare(grid, tables, factors_);
  const std::size_t fields = model_.fields.size();
  const Layout& layout = grid.layout();
  const Index3& cells = grid.cells();
  grid.communicator().together([&] {
    for (int i = 0; i < scratch_states_; ++i) scratch_.emplace_back(state_doubles(grid, fields), grid.machine());
    for (std::size_t f = 0; f < fields; ++f)
      for (std::int64_t k = 0; k < cells[2]; ++k)
        for (std::int64_t j = 0; j < cells[1]; ++j) {
          for (std::int64_t i = 0; f == 0 && i < cells[0]; ++i) places_.push_back(layout.at(i, j, k));
          const std::int64_t first = layout.at(0, j, k) + layout.field_stride * static_cast<std::int64_t>(f);
          if (!runs_.empty() && runs_.back().first + runs_.back().count == first)
            runs_.back().count += cells[0];
          else
            runs_.push_back({first, cells[0]});
        }
  });
}

void ImplicitStepper::bind_series_sums(std::size_t active_series, double* knots) {
  operators_.series().bind_sums(active_series, knots);
}

void ImplicitStepper::set_series(std::size_t series, const std::vector<double>& values) {
  operators_.series().set_values(series, values);
}

void ImplicitStepper::set_series_directions(std::vector<Series> directions) {
  operators_.series().set_directions(std::move(directions));
}

std::vector<Stepper::Described> ImplicitStepper::describe() const {
  std::vector<Described> all = operators_.kernels().describe();
  std::ranges::copy(systems_->kernels().describe(), std::back_inserter(all));
  return all;
}

std::vector<const KernelLibrary*> ImplicitStepper::libraries() const {
  std::vector<const KernelLibrary*> all = operators_.kernels().libraries();
  std::ranges::copy(systems_->kernels().libraries(), std::back_inserter(all));
  return all;
}

void ImplicitStepper::combine(double* out, const Term* terms, std::size_t count) const {
  for (const Run& run : runs_)
    for (std::int64_t i = run.first; i < run.first + run.count; ++i) out[i] = terms->factor * terms->state[i];
  add(out, terms + 1, count - 1);
}

void ImplicitStepper::add(double* out, const Term* terms, std::size_t count) const {
  for (const Run& run : runs_)
    for (const Term* term = terms; term != terms + count; ++term) {
      if (term->factor == 0.0) continue;
      for (std::int64_t i = run.first; i < run.first + run.count; ++i) out[i] += term->factor * term->state[i];
    }
}

double ImplicitStepper::error_ratio(const double* error, const double* u, const double* next) const {
  const Tolerances& allowed = *wants_.tolerances;
  const std::int64_t stride = grid_->layout().field_stride;
  const int fields = static_cast<int>(model_.fields.size());
  double largest = 0.0;
  for (const std::int64_t place : places_) {
    double sum = 0.0;
    for (int f = 0; f < fields; ++f) {
      const std::int64_t i = place + f * stride;
      const double ratio = error[i] / (allowed.absolute[static_cast<std::size_t>(f)] +
                                       allowed.relative * std::max(std::fabs(u[i]), std::fabs(next[i])));
      sum += ratio * ratio;
    }
    if (!std::isfinite(sum)) sum = std::numeric_limits<double>::infinity();
    largest = std::max(largest, sum);
  }
  return std::sqrt(grid_->communicator().max(largest) / fields);
}

}  // namespace hindsight
