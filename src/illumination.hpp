// How strongly waves shake each cell: by what full-waveform inversion scales its unknowns.
#pragma once

#include <vector>

#include "adjoint/problem/simulation.hpp"

namespace hindsight {

/// The sum over steps of the squared second derivative in time of the states, of all fields together, times the step:
/// the diagonal of the pseudo-Hessian (Shin, Jang and Min 2001, Improved amplitude preservation for prestack depth
/// migration by inverse scattering theory), but for a factor of the cell's own parameters. Of equations of second
/// order. Takes two arrays of cells for each field, and one.
class Illumination {
 public:
  /// @param simulation must outlive this.
  explicit Illumination(const Simulation& simulation);
  /// Every state of a sweep, in order.
  void observe(std::int64_t k, StateBlocks state);
  /// Of the owned cells, x fastest. The same on every number of ranks.
  const std::vector<double>& cells() const { return sum_; }

 private:
  const Simulation& simulation_;
  std::vector<std::vector<double>> changes_;  // of each field in the step before
  std::vector<double> sum_;
};

/// The bytes of one.
std::int64_t illumination_bytes(const Simulation& simulation);

/// Factors of variables from illuminations: of a field's cells the root of D/most + 1/100, D theirs and `most` the
/// largest in the cells that are unknown, so that the optimiser's first curvature is that of the waves; 1 where D tells
/// nothing. @param illumination of each unknown; empty: nothing is told of it. Collective.
std::vector<std::vector<double>> scales_of(const Simulation& simulation, std::vector<std::vector<double>> illumination);

}  // namespace hindsight
