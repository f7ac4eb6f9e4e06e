#include "solvers/steppers/dense/stage_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "solvers/steppers/dense/dense_lu.hpp"

namespace hindsight {
namespace {

constexpr int most_iterations = 20;

}  // namespace

void StageSolver::prepare(const Grid& grid) {
  const auto n = static_cast<std::size_t>(systems_.size());
  matrix_.resize(n * n);
  change_.resize(n);
  pivots_.resize(n);
  grid.communicator().together([&] {
    pending_.reserve(systems_.places().size());
    changes_.resize(systems_.places().size());
  });
}

void StageSolver::solve(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
                        double* slope) {
  pending_.resize(changes_.size());
  std::iota(pending_.begin(), pending_.end(), std::size_t{0});
  history_.clear();
  for (iteration_ = 1; !pending_.empty(); ++iteration_) {
    systems_.evaluate(tables, series, at, y, slope);
    history_.push_back(0.0);
    std::size_t left = 0;
    for (const std::size_t cell : pending_)
      if (improve(cell, a, base, y, slope) == Outcome::goes_on) pending_[left++] = cell;
    pending_.resize(left);
  }
}

/// One iteration at a cell.
StageSolver::Outcome StageSolver::improve(std::size_t cell, double a, const double* base, double* y,
                                          const double* slope) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const int n = systems_.size();
  const std::int64_t place = systems_.places()[cell], stride = systems_.field_stride();
  for (int f = 0; f < n; ++f) {
    const std::int64_t i = place + f * stride;
    change_[static_cast<std::size_t>(f)] = base[i] + a * slope[i] - y[i];
  }
  systems_.matrix(place, a, matrix_.data());
  factorise(n, matrix_.data(), pivots_.data());
  hindsight::solve(n, matrix_.data(), pivots_.data(), change_.data());

  double change = 0.0, largest_change = 0.0, largest = 0.0;  // relative to the field's own size; of all; and their size
  int worst = 0;
  bool is_finite = true;
  for (int f = 0; f < n; ++f) {
    const std::int64_t i = place + f * stride;
    const double d = std::fabs(change_[static_cast<std::size_t>(f)]);
    y[i] += change_[static_cast<std::size_t>(f)];
    is_finite = is_finite && std::isfinite(y[i]);
    const double own = std::max(std::fabs(y[i]), std::fabs(base[i]));
    if (d > change * own) {
      change = d / own;
      worst = f;
    }
    largest_change = std::max(largest_change, d);
    largest = std::max(largest, own);
  }
  history_.back() = std::max(history_.back(), change);
  const Outcome outcome = is_finite ? judge(cell, change, largest_change < 8 * eps * largest) : Outcome::failed;
  changes_[cell] = change;
  if (outcome == Outcome::failed) fail(cell, y, worst);
  return outcome;
}

/// @param is_rounding whether the change may be one of rounding alone.
StageSolver::Outcome StageSolver::judge(std::size_t cell, double change, bool is_rounding) const {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  if (systems_.is_linear() || change <= 2 * eps) return Outcome::found;
  if (iteration_ == 1) return Outcome::goes_on;
  const double before = changes_[cell], ratio = change / before;
  // Convergence is quadratic: what is left is about (change / before^2) change^2.
  if (change < 1e-4 && ratio * ratio * change <= 0.1 * eps) return Outcome::found;
  // Changes of rounding do not shrink any more.
  if (ratio > 0.1 && (change < 1e-9 || is_rounding)) return Outcome::found;
  return iteration_ < most_iterations ? Outcome::goes_on : Outcome::failed;
}

void StageSolver::fail(std::size_t cell, double* y, int field) {
  for (int f = 0; f < systems_.size(); ++f)
    y[systems_.places()[cell] + f * systems_.field_stride()] = std::numeric_limits<double>::quiet_NaN();
  if (failed_field_ >= 0) return;
  failed_field_ = field;
  failed_history_ = history_;
}

std::string StageSolver::failure(const std::vector<std::string>& fields) const {
  if (failed_field_ < 0) return "";
  std::string changes;
  for (const double change : failed_history_) changes += fmt::format("{}{:.1e}", changes.empty() ? "" : ", ", change);
  return fmt::format(
      "Newton's method found no solution; the relative changes of its iterations, the last one largest in "
      "'{}': {}",
      fields[static_cast<std::size_t>(failed_field_)], changes);
}

}  // namespace hindsight
