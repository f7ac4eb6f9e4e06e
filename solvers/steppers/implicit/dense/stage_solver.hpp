// Newton's method for the stages of implicit steps, at every cell by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/steppers/implicit/dense/cell_systems.hpp"

namespace hindsight {

/// Solves y = base + a F(t, y), to round-off, with the Jacobian of every iterate: what is left when it stops is the
/// rounding of each equation itself, by the size of its own terms, so that the derivatives of the exact solution are
/// those of the one found. An iterate without a regular, finite Jacobian (sqrt(y) at 0) is followed by base + a F(t,
/// y). All follows from base and the first guess at a cell alone: it stays the same bits on any number of ranks, and
/// when a step is taken again. (Hairer, Wanner, Solving ODEs II, IV.8; there with one Jacobian for all iterations.)
/// Memory per cell, beside that of the systems: 20 floats, the history of its iterations.
class StageSolver {
 public:
  /// @param entries, systems outlive it.
  StageSolver(JacobianEntries& entries, CellSystems& systems) : entries_(entries), systems_(systems) {}
  /// Collective.
  void prepare(const Grid& grid);

  /// @param y the first guess, then the solution; not a number at cells where there is none. @param slope of the
  /// model's fields, scratch.
  void solve(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
             double* slope);

  /// Forgets failures.
  void begin() { failed_cell_ = none; }
  /// Why a solution was not found since begin() at the first such cell of this rank; not known: all were found.
  StepFailure failure(const std::vector<std::string>& fields) const;

 private:
  enum class Outcome { goes_on, found, failed };
  /// What is left of a system's equations.
  struct Residual {
    bool is_zero = true, is_rounding = true;
    int bad = -1;  ///< the first variable whose equation leaves what is not finite
  };
  /// The largest change of a field, relative to its own size; one that is not finite is larger than all.
  struct Change {
    double relative = 0.0;
    int field = 0;
    bool is_finite = true;
  };
  Outcome improve(std::size_t cell, double a, const double* base, double* y, const double* slope);
  Residual find_residual(std::int64_t place, double a, const double* base, const double* y, const double* slope);
  Change change(std::int64_t place, const double* base, double* y) const;
  Outcome judge(std::size_t cell, double change, bool is_rounding) const;
  /// What was tried where the equations have no value.
  struct Bad {
    std::vector<double> at;
    double t = 0.0;
  };
  void fail(std::size_t cell, double* y, int field, Bad bad);
  float* history(std::size_t cell) { return history_.data() + cell * most_iterations; }
  const float* history(std::size_t cell) const { return history_.data() + cell * most_iterations; }

  static constexpr int most_iterations = 20;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  const Grid* grid_ = nullptr;
  JacobianEntries& entries_;
  CellSystems& systems_;
  CountedVector<std::size_t> pending_;  // cells, in order
  // Of each cell, the relative change of each iteration; not a number of one without a Jacobian.
  CountedVector<float> history_;
  std::vector<double> matrix_, change_;
  std::vector<int> pivots_;
  int iteration_ = 0;
  double t_ = 0.0;
  std::size_t failed_cell_ = none;
  std::vector<float> failed_history_;
  int failed_field_ = -1;
  Bad failed_at_;
};

}  // namespace hindsight
