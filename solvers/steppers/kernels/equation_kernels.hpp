// The kernels of a model's equations at one evaluation: values, tangents, gathers.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// Blocks hold as many consecutive fields as there are equations. A model may have fields behind those, which are held:
/// they are given as further blocks, and differentiated for the values of their walls alone (KernelRequest::held).
/// Ghosts of all that is given are scratch; every call fills those that it reads. The input of an evaluation lies in
/// the arrays that are named stage 1 (StageNames), outputs in arrays whose names others share: all are bound at every
/// call. The sums (Tables) are first those of the active scalars, then those of series.
/// Memory per cell of a call: each field that it reads once, each output once.
class EquationKernels {
 public:
  static constexpr int stage = 1;

  /// Derives values and what is wanted; only that is compiled. @param name of the kernels, and distinguishes their
  /// walls. @param model, active outlive it.
  EquationKernels(const Model& model, const Active& active, const std::string& name, SeriesReads reads,
                  const Derivatives& wanted);

  int sums() const { return static_cast<int>(active_.scalars.size()) + EvaluationTime::sums(active_, reads_); }
  KernelSet& kernels() { return kernels_; }
  const KernelSet& kernels() const { return kernels_; }
  /// Compiles and allocates. @param knots number of knots of each active series. @param longest see KernelSet.
  /// Collective.
  void prepare(const Grid& grid, Tables& tables, const std::vector<std::size_t>& knots, std::size_t longest);

  // `at` is the time of the evaluation, with the length and the number of the step that it belongs to. Collective.
  using Blocks = std::initializer_list<double*>;
  void values(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* values);
  /// Writes the tangents, with held fields that change beyond walls alone.
  void tangents(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* direction,
                double* tangents);
  /// Writes what the transposed derivative makes of w, and adds to the sums and to the arrays of parameter fields'
  /// derivatives.
  void gather(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* w, double* gathered);

 private:
  KernelRequest request(const std::string& name) const;
  void begin(Tables& tables, const SeriesData& series, StepTime at, Direction direction, Blocks states);

  const Model& model_;
  const Active& active_;
  SeriesReads reads_;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;                                // once the kernels are derived
  std::vector<std::vector<int>> states_;                              // symbols by block
  std::vector<int> direction_, multiplier_, value_, dot_, gathered_;  // symbols
  std::vector<int> held_directions_;                                  // symbols of arrays that stay zero
  int length_ = -1;                                                   // of the step's length; -1: nobody reads it
};

}  // namespace hindsight
