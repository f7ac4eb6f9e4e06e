#include "adjoint/objective/butterworth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace hindsight {
namespace {

using Complex = std::complex<double>;
using Section = Butterworth::Section;

/// Of the filter with corner 1, those in the upper half plane; the last one of an odd order is -1.
std::vector<Complex> poles(int order) {
  std::vector<Complex> all;
  for (int k = 0; 2 * k < order; ++k)
    all.push_back(2 * k + 1 == order ? Complex(-1.0)
                                     : std::polar(1.0, std::numbers::pi * (2 * k + order + 1) / (2 * order)));
  return all;
}

/// (n2 s^2 + n1 s + n0)/(s^2 + d1 s + d0) at s = (1 - z^-1)/(1 + z^-1).
Section bilinear(double n2, double n1, double n0, double d1, double d0) {
  const double a0 = 1.0 + d1 + d0;
  return {(n2 + n1 + n0) / a0, 2.0 * (n0 - n2) / a0, (n2 - n1 + n0) / a0, 2.0 * (d0 - 1.0) / a0, (1.0 - d1 + d0) / a0};
}

/// (n1 s + n0)/(s + d0) there.
Section bilinear(double n1, double n0, double d0) {
  const double a0 = 1.0 + d0;
  return {(n1 + n0) / a0, (n0 - n1) / a0, 0.0, (d0 - 1.0) / a0, 0.0};
}

}  // namespace

std::string FilterSpec::text() const {
  const std::string kind = low == 0.0    ? fmt::format("lowpass {}", high)
                           : high == 0.0 ? fmt::format("highpass {}", low)
                                         : fmt::format("bandpass {} to {}", low, high);
  return kind + fmt::format(", order {}", order) + (has_zero_phase ? ", zero phase" : "");
}

Butterworth::Butterworth(const FilterSpec& spec, double interval) : has_zero_phase_(spec.has_zero_phase) {
  const auto warped = [&](double frequency) { return std::tan(std::numbers::pi * frequency * interval); };
  if (spec.low == 0.0)
    add_lowpass(warped(spec.high), spec.order);
  else if (spec.high == 0.0)
    add_highpass(warped(spec.low), spec.order);
  else
    add_bandpass(warped(spec.low), warped(spec.high), spec.order);
}

void Butterworth::add_lowpass(double corner, int order) {
  for (const Complex& p : poles(order))
    sections_.push_back(p.imag() == 0.0
                            ? bilinear(0.0, corner, corner)
                            : bilinear(0.0, 0.0, corner * corner, -2.0 * p.real() * corner, corner * corner));
}

void Butterworth::add_highpass(double corner, int order) {
  for (const Complex& p : poles(order))
    sections_.push_back(p.imag() == 0.0 ? bilinear(1.0, 0.0, corner)
                                        : bilinear(1.0, 0.0, 0.0, -2.0 * p.real() * corner, corner * corner));
}

/// The low-pass filter at (s^2 + low*high)/((high - low) s): each of its poles becomes two.
void Butterworth::add_bandpass(double low, double high, int order) {
  const double width = high - low, centre = low * high;
  for (const Complex& p : poles(order)) {
    if (p.imag() == 0.0) {
      sections_.push_back(bilinear(0.0, width, 0.0, width, centre));
      continue;
    }
    const Complex half = 0.5 * width * p, root = std::sqrt(half * half - centre);
    for (const Complex& pole : {half + root, half - root})
      sections_.push_back(bilinear(0.0, width, 0.0, -2.0 * pole.real(), std::norm(pole)));
  }
}

/// The direct form II, transposed.
void Butterworth::run(std::span<double> values) const {
  for (const Section& s : sections_) {
    double first = 0.0, second = 0.0;
    for (double& value : values) {
      const double in = value, out = s.b0 * in + first;
      first = s.b1 * in - s.a1 * out + second;
      second = s.b2 * in - s.a2 * out;
      value = out;
    }
  }
}

/// Backwards in time: the transpose, as the matrix of run() has constant diagonals.
void Butterworth::run_back(std::span<double> values) const {
  std::ranges::reverse(values);
  run(values);
  std::ranges::reverse(values);
}

void Butterworth::apply(std::span<double> values) const {
  run(values);
  if (has_zero_phase_) run_back(values);
}

/// With zero phase the matrix is its own transpose.
void Butterworth::apply_transpose(std::span<double> values) const {
  if (has_zero_phase_) run(values);
  run_back(values);
}

}  // namespace hindsight
