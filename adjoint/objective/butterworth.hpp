// Butterworth filters of numbers at regular times (Butterworth 1930, On the theory of filter amplifiers), made digital
// by the bilinear transform with corners where they are asked for, as second-order sections (Oppenheim and Schafer,
// Discrete-Time Signal Processing, chapter 7).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hindsight {

/// What passes: below `high`, above `low`, or between them; frequencies in cycles per unit of time, at which the gain
/// is 1/sqrt(2), 0: no such corner. Far from a corner the gain falls by 2^order with every factor of two.
struct FilterSpec {
  double low = 0.0, high = 0.0;
  int order = 4;
  bool has_zero_phase = false;  ///< once forward and once backward in time: the gain is squared, and nothing is delayed
  bool operator==(const FilterSpec&) const = default;
  double highest_corner() const { return high > 0.0 ? high : low; }
  /// "lowpass 3", "bandpass 2 to 8, order 6, zero phase".
  std::string text() const;
};

/// Linear in the numbers; before the first of them all are zero.
class Butterworth {
 public:
  /// b0 + b1 z^-1 + b2 z^-2 over 1 + a1 z^-1 + a2 z^-2.
  struct Section {
    double b0 = 1.0, b1 = 0.0, b2 = 0.0, a1 = 0.0, a2 = 0.0;
  };
  /// @param interval between numbers; half of one over it, the Nyquist frequency, must be above all corners.
  Butterworth(const FilterSpec& spec, double interval);

  const std::vector<Section>& sections() const { return sections_; }
  void apply(std::span<double> values) const;
  /// The transpose of the matrix that apply() is.
  void apply_transpose(std::span<double> values) const;

 private:
  void add_lowpass(double corner, int order);
  void add_highpass(double corner, int order);
  void add_bandpass(double low, double high, int order);
  void run(std::span<double> values) const;
  void run_back(std::span<double> values) const;

  std::vector<Section> sections_;
  bool has_zero_phase_ = false;
};

}  // namespace hindsight
