#include "solvers/steppers/implicit/dense/cell_systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/steppers/implicit/dense/dense_lu.hpp"

namespace hindsight {

CellSystems::CellSystems(const Model& model, const JacobianEntries& entries)
    : model_(model), entries_(entries), size_(static_cast<int>(entries.variables().size())) {}

void CellSystems::prepare(const Grid& grid, const CountedVector<std::int64_t>& places, bool factors) {
  places_ = &places;
  field_stride_ = grid.layout().field_stride;
  for (const SystemVariable& variable : entries_.variables())
    offsets_.push_back(field_stride_ * static_cast<std::int64_t>(variable.field));
  grid.communicator().together([&] {
    const auto n = static_cast<std::size_t>(size_);
    if (!factors) return;
    factors_.resize(places.size() * n * n);
    pivots_.resize(places.size() * n);
  });
  column_.resize(static_cast<std::size_t>(size_));
}

void CellSystems::matrix(std::int64_t place, double a, double* out) const {
  const auto n = static_cast<std::size_t>(size_);
  std::fill(out, out + n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) out[i * (n + 1)] = entries_.variables()[i].mass;
  for (const JacobianEntries::Entry& entry : entries_.all())
    out[static_cast<std::size_t>(entry.row) + n * static_cast<std::size_t>(entry.column)] -= a * entry.at(place);
}

std::vector<double> CellSystems::values_at(std::int64_t place, const double* block) const {
  std::vector<double> values;
  for (std::int64_t f = 0; f < std::ssize(model_.fields); ++f) values.push_back(block[place + f * field_stride_]);
  return values;
}

void CellSystems::factorise(double a) {
  const auto n = static_cast<std::size_t>(size_);
  failed_place_ = -1;
  for (std::size_t cell = 0; cell < places_->size(); ++cell) {
    double* const factors = factors_.data() + cell * n * n;
    matrix((*places_)[cell], a, factors);
    if (hindsight::factorise(size_, factors, pivots_.data() + cell * n)) continue;
    std::fill_n(factors, n * n, std::numeric_limits<double>::quiet_NaN());
    if (failed_place_ < 0) failed_place_ = (*places_)[cell];
  }
}

std::string CellSystems::failure() const {
  if (failed_place_ < 0) return "";
  const auto name = [&](int variable) {
    return model_.fields[entries_.variables()[static_cast<std::size_t>(variable)].field];
  };
  for (const JacobianEntries::Entry& entry : entries_.all()) {
    if (std::isfinite(entry.at(failed_place_))) continue;
    return fmt::format(
        "the derivative of dt({}) with respect to {} is not finite at the state before, where a Rosenbrock method "
        "needs it; methods that solve for their stages (sdirk3, esdirk4) do not",
        name(entry.row), name(entry.column));
  }
  return "the matrix of the step, made of the equations' derivatives at the state before, is singular";
}

template <class Solve>
void CellSystems::at_every_cell(double* x, Solve solve_at) {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t cell = 0; cell < places_->size(); ++cell) {
    double* const at = x + (*places_)[cell];
    for (std::size_t f = 0; f < n; ++f) column_[f] = at[offsets_[f]];
    solve_at(size_, factors_.data() + cell * n * n, pivots_.data() + cell * n, column_.data());
    for (std::size_t f = 0; f < n; ++f) at[offsets_[f]] = column_[f];
  }
}

/// Calls visit(state, offset in it, entry) of all factors, and of all pivots.
template <class Factor, class Pivot>
void CellSystems::visit_factors(const Factor& factor, const Pivot& pivot) const {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t cell = 0; cell < places_->size(); ++cell) {
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t f = 0; f < n; ++f) factor(c, (*places_)[cell] + offsets_[f], cell * n * n + c * n + f);
    for (std::size_t f = 0; f < n; ++f) pivot(n, (*places_)[cell] + offsets_[f], cell * n + f);
  }
}

void CellSystems::save_factors(double* const* states) const {
  visit_factors([&](std::size_t state, std::int64_t at, std::size_t i) { states[state][at] = factors_[i]; },
                [&](std::size_t state, std::int64_t at, std::size_t i) { states[state][at] = pivots_[i]; });
}

void CellSystems::load_factors(const double* const* states) {
  visit_factors(
      [&](std::size_t state, std::int64_t at, std::size_t i) { factors_[i] = states[state][at]; },
      [&](std::size_t state, std::int64_t at, std::size_t i) { pivots_[i] = static_cast<int>(states[state][at]); });
}

void CellSystems::solve(double* x) {
  at_every_cell(x, hindsight::solve);
}

void CellSystems::solve_transposed(double* x) {
  at_every_cell(x, hindsight::solve_transposed);
}

}  // namespace hindsight
