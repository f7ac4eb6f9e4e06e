// Adjoints that are wrong on purpose, so that checks can be checked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/problem/unknown_places.hpp"

namespace hindsight {

/// Everything that a sweep backwards adds to: arrays of the adjoint and of derivatives by fields, and rows of sums.
struct AdjointMemory {
  const Grid& grid;
  std::vector<CellArray> cells;
  std::vector<const Memory*> sums;
};

/// What comes from one part of the adjoint, or goes to one unknown, counts 1 + size times. Nothing does at first.
class BrokenAdjoint {
 public:
  /// What adds to the adjoint: steps, integrals, misfits, initial (states that depend on unknowns), walls (that do).
  static const std::vector<std::string>& parts();
  /// @param what an unknown's label, "all" of them, or one of parts(). @throws InputError naming what there is.
  void set(const std::string& what, double size, const std::vector<Unknown>& unknowns);

  bool is_part(const char* part) const { return size_ != 0.0 && what_ == part; }
  /// Runs work that adds to the memory, of the part that is broken. @param memory where it is, before and after.
  void contribute(const std::function<AdjointMemory()>& memory, const std::function<void()>& work) const;
  /// Of sums that a part has added to.
  void scale_increments(const char* part, const DerivativeSums& before, DerivativeSums& after) const;
  void scale(const Unknown& unknown, std::vector<double>& derivatives) const;

 private:
  void scale_increments(const std::vector<double>& before, std::vector<double>& after) const;
  std::string what_;
  double size_ = 0.0;
};

}  // namespace hindsight
