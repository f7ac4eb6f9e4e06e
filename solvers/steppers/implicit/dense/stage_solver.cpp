#include "solvers/steppers/implicit/dense/stage_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/nearest_name.hpp"
#include "solvers/steppers/implicit/dense/dense_lu.hpp"

namespace hindsight {

void StageSolver::prepare(const Grid& grid) {
  grid_ = &grid;
  const auto n = static_cast<std::size_t>(systems_.size());
  matrix_.resize(n * n);
  change_.resize(n);
  pivots_.resize(n);
  grid.communicator().together([&] {
    pending_.reserve(systems_.places().size());
    history_.resize(systems_.places().size() * most_iterations);
  });
}

void StageSolver::solve(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
                        double* slope) {
  pending_.resize(systems_.places().size());
  std::iota(pending_.begin(), pending_.end(), std::size_t{0});
  t_ = at.t;
  for (iteration_ = 1; !pending_.empty(); ++iteration_) {
    entries_.evaluate(tables, series, at, y, slope);
    std::size_t left = 0;
    for (const std::size_t cell : pending_)
      if (improve(cell, a, base, y, slope) == Outcome::goes_on) pending_[left++] = cell;
    pending_.resize(left);
  }
}

/// Leaves what is left of the equations in change_, and the matrix. Rounding is measured by the terms of each equation.
StageSolver::Residual StageSolver::find_residual(std::int64_t place, double a, const double* base, const double* y,
                                                 const double* slope) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const int n = systems_.size();
  systems_.matrix(place, a, matrix_.data());
  Residual residual;
  for (int f = 0; f < n; ++f) {
    const std::int64_t i = place + systems_.offset(f);
    const double mass = systems_.mass(f);
    const double left = mass * base[i] + a * slope[i] - mass * y[i];
    double size = std::fabs(mass * base[i]) + std::fabs(a * slope[i]);
    for (int c = 0; c < n; ++c)
      size += std::fabs(matrix_[static_cast<std::size_t>(f + c * n)] * y[place + systems_.offset(c)]);
    change_[static_cast<std::size_t>(f)] = left;
    if (!std::isfinite(left) && residual.bad < 0) residual.bad = f;
    residual.is_zero = residual.is_zero && left == 0.0;
    residual.is_rounding = residual.is_rounding && std::fabs(left) <= 8 * eps * size;
  }
  return residual;
}

/// Adds change_ to y.
StageSolver::Change StageSolver::change(std::int64_t place, const double* base, double* y) const {
  Change result;
  for (int f = 0; f < systems_.size(); ++f) {
    const std::int64_t i = place + systems_.offset(f);
    const double d = change_[static_cast<std::size_t>(f)];
    y[i] += d;
    const double own = std::max(std::fabs(y[i]), std::fabs(base[i]));
    if (!std::isfinite(y[i])) {
      if (result.is_finite) result = {std::numeric_limits<double>::infinity(), f, false};
      continue;
    }
    if (!(std::fabs(d) > result.relative * own)) continue;
    result.relative = std::fabs(d) / own;
    result.field = f;
  }
  return result;
}

/// One iteration at a cell.
StageSolver::Outcome StageSolver::improve(std::size_t cell, double a, const double* base, double* y,
                                          const double* slope) {
  const std::int64_t place = systems_.places()[cell];
  const Residual residual = find_residual(place, a, base, y, slope);
  Bad bad;
  if (residual.bad >= 0) bad = {systems_.values_at(place, y), t_};
  const bool has_factors = factorise(systems_.size(), matrix_.data(), pivots_.data());
  if (has_factors) hindsight::solve(systems_.size(), matrix_.data(), pivots_.data(), change_.data());
  const Change change = this->change(place, base, y);
  history(cell)[iteration_ - 1] =
      has_factors ? static_cast<float>(change.relative) : std::numeric_limits<float>::quiet_NaN();
  Outcome outcome = Outcome::failed;
  if (change.is_finite && has_factors)
    outcome = judge(cell, change.relative, residual.is_rounding);
  else if (change.is_finite && residual.is_zero)
    outcome = Outcome::found;
  else if (change.is_finite && iteration_ < most_iterations)
    outcome = Outcome::goes_on;
  if (outcome == Outcome::failed) fail(cell, y, residual.bad >= 0 ? residual.bad : change.field, std::move(bad));
  return outcome;
}

/// @param is_rounding whether what was left of the equations may be rounding alone.
StageSolver::Outcome StageSolver::judge(std::size_t cell, double change, bool is_rounding) const {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  if (entries_.is_linear() || change <= 2 * eps) return Outcome::found;
  if (iteration_ == 1) return Outcome::goes_on;
  const double before = history(cell)[iteration_ - 2], ratio = change / before;
  // Convergence is quadratic: what is left is about (change / before^2) change^2.
  if (change < 1e-4 && ratio * ratio * change <= 0.1 * eps) return Outcome::found;
  // Changes of rounding do not shrink any more.
  if (ratio > 0.1 && (change < 1e-9 || is_rounding)) return Outcome::found;
  return iteration_ < most_iterations ? Outcome::goes_on : Outcome::failed;
}

void StageSolver::fail(std::size_t cell, double* y, int field, Bad bad) {
  for (int f = 0; f < systems_.size(); ++f)
    y[systems_.places()[cell] + systems_.offset(f)] = std::numeric_limits<double>::quiet_NaN();
  if (cell >= failed_cell_) return;  // later stages fail where one has, too
  failed_cell_ = cell;
  failed_field_ = field;
  failed_history_.assign(history(cell), history(cell) + iteration_);
  failed_at_ = std::move(bad);
}

StepFailure StageSolver::failure(const std::vector<std::string>& fields) const {
  if (failed_cell_ == none) return {};
  StepFailure failure;
  failure.bad = {static_cast<int>(entries_.variables()[static_cast<std::size_t>(failed_field_)].field),
                 owned_cell(*grid_, static_cast<std::int64_t>(failed_cell_))};
  failure.at = failed_at_.at;
  failure.t = failed_at_.t;
  std::vector<std::string> changes;
  for (const float change : failed_history_) {
    if (std::isinf(change)) break;
    changes.push_back(std::isnan(change) ? "none (no finite, regular Jacobian)" : fmt::format("{:.1e}", change));
    if (std::isnan(change)) break;  // so are the others
  }
  const bool is_finite = failure.at.empty() && !std::isinf(failed_history_.back());
  const std::string last =
      is_finite ? fmt::format(", the last one largest in '{}'", fields[static_cast<std::size_t>(failure.bad.field)])
                : "";
  failure.why = "Newton's method found no solution";
  if (!changes.empty())
    failure.why += fmt::format("; the relative changes of its iterations{}: {}", last, join_few(changes));
  if (!is_finite) failure.why += changes.empty() ? "" : ", and then one that is not finite";
  return failure;
}

}  // namespace hindsight
