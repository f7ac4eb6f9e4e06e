// Waves as one writes them for one machine: leapfrog with differences of order 8, a sponge, a free surface on top, its
// adjoint and the gradient by the medium. What bench.leapfrog measures itself against.
#pragma once

#include <cstddef>
#include <vector>

namespace hindsight::bench {

/// @tparam Real float or double. Rows lie along x, and are shared by threads; ghosts of four cells on all sides are
/// zero but beyond the surface.
template <class Real>
class WaveByHand {
 public:
  WaveByHand(int nx, int nz, int steps, int threads);
  /// Forward in place, two levels.
  void forward();
  /// The same with all levels kept.
  void forward_kept();
  /// After forward_kept(): back, with the gradient by the medium.
  void adjoint();
  /// So that nothing is left out.
  double checksum() const;

 private:
  using Array = std::vector<Real>;
  Real* at(Array& array, int i, int j) const { return array.data() + place(i, j); }
  std::size_t place(int i, int j) const;
  void inject(Array& u, int step) const;
  void mirror(Array& u) const;

  int nx_, nz_, steps_, threads_;
  std::ptrdiff_t stride_;
  Array k_, sponge_, a_, b_, mu_, mu_next_, gradient_;  // k: (c h / dx)^2
  std::vector<Array> history_;
};

extern template class WaveByHand<float>;
extern template class WaveByHand<double>;

}  // namespace hindsight::bench
