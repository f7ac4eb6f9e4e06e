// The derivative of a function of one variable at 0 from its values beside 0, with a bound on the error.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace hindsight {

/// The derivative lies within `bound` of `value`.
struct DerivativeEstimate {
  double value = 0.0;
  double bound = std::numeric_limits<double>::infinity();
  bool allows(double derivative) const { return std::fabs(derivative - value) <= bound; }
};

/// Values of a function at 0, and at e and -e for a number of steps e: the largest first, each half of the one before.
/// Not a number where the function has no value.
struct LineSamples {
  double at_zero = 0.0;
  double noise = 0.0;        ///< what round-off changes a value by, at most,
  double noise_reach = 1.0;  ///< at steps up to this
  std::vector<double> steps, ahead, behind;
};

/// The derivative from both sides: central differences, extrapolated to step 0 (Richardson 1911). The bound is ten
/// times what neighbours in the table differ by (Ridders 1982 takes once), and what noise can do; of the table's
/// entries the one with the least bound counts. An infinite bound where there are too few values.
DerivativeEstimate central_derivative(const LineSamples& samples);
/// The same from one side: what the quotients (f(e) - f(0))/e, or (f(0) - f(-e))/e, tend to.
DerivativeEstimate derivative_ahead(const LineSamples& samples);
DerivativeEstimate derivative_behind(const LineSamples& samples);
/// From both sides where there are values on both, else from the side that tells more.
DerivativeEstimate best_derivative(const LineSamples& samples);

/// Both sides tend to different derivatives, by more than their bounds.
bool has_kink(const LineSamples& samples);

/// A value differs from that at 0, by more than noise.
bool changes(const LineSamples& samples);

/// The function of e; none where it has no value.
using LineFunction = std::function<std::optional<double>(double e)>;

/// Takes values at steps from 0.02 downwards, six of them or more, until the derivative is known within `wanted` or
/// noise lets smaller steps tell nothing more; then at larger steps up to 2, as long as it is not known within
/// `needed`.
/// @param begun value at 0 and noise.
LineSamples sample_line(const LineFunction& function, LineSamples begun, double wanted, double needed);

/// How the remainders |f(e) - f(0) - e slope| fall: the least order over a stretch of three halvings, the best that is
/// clear of noise, or of two where there is none. 0 halvings: neither is there.
struct RemainderOrder {
  double order = 0.0;
  int halvings = 0;
};
RemainderOrder remainder_order(const LineSamples& samples, double slope);

/// What round-off changes a function's values by, as a standard deviation: from values at equally spaced points so near
/// to each other that the function is a parabola between them but for round-off (third differences; Hamming 1962, ch.
/// 6; Moré and Wild 2011). Fewer than four values: 0.
double noise_of(std::span<const double> values);

}  // namespace hindsight
