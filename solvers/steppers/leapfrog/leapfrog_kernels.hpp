// The kernels of the leapfrog method, as requests of expressions.
#pragma once

#include <string>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/kernels/point_sources.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

/// Names of arrays that these kernels refer to, beside StageNames: the fields after a step, and what the adjoints of a
/// state become.
struct LeapfrogNames : StageNames {
  static std::string next(const std::string& field) { return "next(" + field + ")"; }
  static std::string lambda_before(const std::string& field) { return before(lambda(field)); }
  static std::string lambda_next(const std::string& field) { return "next(" + lambda(field) + ")"; }
  static std::string lambda_next_before(const std::string& field) { return "next(" + lambda_before(field) + ")"; }
};

/// The step that a run begins with, whose level before is the first derivative in time, and all others are evaluations
/// of their own.
enum class LeapfrogStep { first = 2, later = 1 };

class LeapfrogKernels {
 public:
  /// All outlive it.
  LeapfrogKernels(const Model& model, const Active& active, const PointSources& sources);

  KernelRequest request(LeapfrogStep which) const;
  /// Sums of the evaluation: the first of them.
  int first_sum(LeapfrogStep which) const;
  /// All sums.
  int sums() const { return first_sum(LeapfrogStep::first) + sums_each(); }
  Expr h() const { return h_; }
  /// Whether anything damps any field.
  bool is_damped() const;
  /// Whether derivatives of a step read its sources: of what damps, by which they are divided.
  bool differentiates_by_sources() const;
  /// What the acceleration of a field is multiplied by in a step of either kind, in the names of later ones'
  /// evaluation; is_first() tells which.
  Expr share_in_any_step(std::size_t field) const;
  /// A scalar: 1 in the step that a run begins with, else 0.
  Expr is_first() const { return graph_.scalar("@is_first"); }
  /// At a cell, the square of the highest frequency of the equations there, were they everywhere as they are in the
  /// cell: the largest of -(symbol of A) over some waves, those of the shortest wave length among them; or of what
  /// drives a field by its rate. Fields that are coupled through their neighbours may have a higher one. Invalid where
  /// it changes with the state or with time.
  Expr squared_frequency() const;

 private:
  int sums_each() const;
  Expr highest_of(std::size_t field) const;
  /// The fields after a step, in the names of its evaluation.
  std::vector<Expr> after(LeapfrogStep which, const std::vector<Expr>& right_hand_sides) const;

  const Model& model_;
  const Active& active_;
  const PointSources& sources_;
  Graph& graph_;
  Expr h_;
};

}  // namespace hindsight
