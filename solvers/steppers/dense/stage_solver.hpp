// Newton's method for the stages of implicit steps, at every cell by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/steppers/dense/cell_systems.hpp"

namespace hindsight {

/// Solves y = base + a F(t, y), to round-off, with the Jacobian of every iterate: what is left when it stops is the
/// rounding of the equations themselves, so that the derivatives of the exact solution are those of the one found. All
/// follows from base and the first guess at a cell alone: it stays the same bits on any number of ranks, and when a
/// step is taken again. (Hairer, Wanner, Solving ODEs II, IV.8; there with one Jacobian for all iterations.)
class StageSolver {
 public:
  /// @param systems outlives it.
  explicit StageSolver(CellSystems& systems) : systems_(systems) {}
  /// Collective.
  void prepare(const Grid& grid);

  /// @param y the first guess, then the solution; not a number at cells where there is none. @param slope of the
  /// model's fields, scratch.
  void solve(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
             double* slope);

  /// Forgets failures.
  void begin() { failed_field_ = -1; }
  /// Why a solution was not found at a cell of this rank since begin(), in words; empty: all were found.
  std::string failure(const std::vector<std::string>& fields) const;

 private:
  enum class Outcome { goes_on, found, failed };
  Outcome improve(std::size_t cell, double a, const double* base, double* y, const double* slope);
  Outcome judge(std::size_t cell, double change, bool is_rounding) const;
  void fail(std::size_t cell, double* y, int field);

  CellSystems& systems_;
  CountedVector<std::size_t> pending_;  // cells, in order
  CountedVector<double> changes_;       // the last one at each cell
  std::vector<double> matrix_, change_;
  std::vector<int> pivots_;
  int iteration_ = 0;
  std::vector<double> history_;  // of a call: the largest change of each iteration
  std::vector<double> failed_history_;
  int failed_field_ = -1;
};

}  // namespace hindsight
