#include "adjoint/check/quotients.hpp"

#include <algorithm>
#include <cmath>

namespace hindsight {
namespace {

constexpr double first_step = 0.02, largest_step = 2.0;
constexpr int first_levels = 6, most_levels = 24;
constexpr std::size_t most_columns = 5;
constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// What round-off changes the i-th pair of values by, at most. Beyond where the noise was sampled it is taken to grow
/// with the step, as it does where a sum of squares leaves its minimum.
double noise_at(const LineSamples& s, std::size_t i) {
  double largest = std::fabs(s.at_zero);
  for (const double value : {s.ahead[i], s.behind[i]})
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return s.noise * std::max(1.0, s.steps[i] / s.noise_reach) + 2 * epsilon * largest;
}

/// Extrapolates quotients whose errors are a series in powers of the step (ratio 2) or of its square (ratio 4).
DerivativeEstimate extrapolated(const std::vector<double>& quotients, const std::vector<double>& noise, double ratio) {
  constexpr double safety = 10.0, noise_gain = 4.0;
  DerivativeEstimate best;
  std::vector<double> row, before, last_change;  // of the table; by how much its columns changed last
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    before.swap(row);
    row.clear();
    if (!std::isfinite(quotients[i])) continue;
    row.push_back(quotients[i]);
    double power = 1.0;
    for (std::size_t k = 0; k < before.size() && k + 1 < most_columns; ++k) {
      power *= ratio;
      row.push_back(row[k] + (row[k] - before[k]) / (power - 1));
    }
    last_change.resize(most_columns, std::numeric_limits<double>::infinity());
    power = 1.0;
    for (std::size_t k = 0; k < before.size() && k < row.size(); ++k) {
      power *= ratio;
      const double change = std::fabs(row[k] - before[k]);
      double difference = std::max(change, last_change[k] / power);  // one may be small by chance
      if (k > 0) difference = std::max({difference, std::fabs(row[k] - row[k - 1]), std::fabs(row[k] - before[k - 1])});
      last_change[k] = change;
      const double bound = safety * difference + noise_gain * noise[i];
      if (bound < best.bound) best = {row[k], bound};
    }
  }
  return best;
}

DerivativeEstimate one_sided(const LineSamples& s, const std::vector<double>& values, double sign) {
  std::vector<double> quotients, noise;
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    quotients.push_back(sign * (values[i] - s.at_zero) / s.steps[i]);
    noise.push_back(2.0 * noise_at(s, i) / s.steps[i]);
  }
  return extrapolated(quotients, noise, 2.0);
}

void add(LineSamples& s, const LineFunction& function, double e, bool in_front) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const auto put = [&](std::vector<double>& all, double value) {
    all.insert(in_front ? all.begin() : all.end(), value);
  };
  put(s.ahead, function(e).value_or(nothing));
  put(s.behind, function(-e).value_or(nothing));
  put(s.steps, e);
}

}  // namespace

DerivativeEstimate central_derivative(const LineSamples& s) {
  std::vector<double> quotients, noise;
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    quotients.push_back((s.ahead[i] - s.behind[i]) / (2 * s.steps[i]));
    noise.push_back(noise_at(s, i) / s.steps[i]);
  }
  return extrapolated(quotients, noise, 4.0);
}

DerivativeEstimate derivative_ahead(const LineSamples& samples) {
  return one_sided(samples, samples.ahead, 1.0);
}

DerivativeEstimate derivative_behind(const LineSamples& samples) {
  return one_sided(samples, samples.behind, -1.0);
}

DerivativeEstimate best_derivative(const LineSamples& samples) {
  const DerivativeEstimate both = central_derivative(samples);
  if (std::isfinite(both.bound)) return both;
  const DerivativeEstimate ahead = derivative_ahead(samples), behind = derivative_behind(samples);
  return ahead.bound < behind.bound ? ahead : behind;
}

bool has_kink(const LineSamples& samples) {
  const DerivativeEstimate ahead = derivative_ahead(samples), behind = derivative_behind(samples);
  return std::fabs(ahead.value - behind.value) > ahead.bound + behind.bound;
}

bool changes(const LineSamples& s) {
  for (std::size_t i = 0; i < s.steps.size(); ++i)
    for (const double value : {s.ahead[i], s.behind[i]})
      if (std::fabs(value - s.at_zero) > noise_at(s, i)) return true;
  return false;
}

LineSamples sample_line(const LineFunction& function, LineSamples s, double wanted, double needed) {
  double e = first_step;
  for (int i = 0; i < most_levels; ++i, e /= 2) {
    if (i >= first_levels) {
      const double bound = best_derivative(s).bound, noise_alone = noise_at(s, s.steps.size() - 1) / e;
      if (bound <= wanted || noise_alone >= bound) break;
    }
    add(s, function, e, false);
  }
  for (e = 2 * first_step; e <= largest_step && best_derivative(s).bound > needed; e *= 2) add(s, function, e, true);
  return s;
}

RemainderOrder remainder_order(const LineSamples& s, double slope) {
  constexpr double clear = 30.0;
  constexpr std::size_t most_halvings = 3;
  std::vector<double> orders;
  RemainderOrder best;
  double last = 0.0;
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const double remainder = std::fabs(s.ahead[i] - s.at_zero - s.steps[i] * slope);
    if (!(remainder > clear * noise_at(s, i))) {
      last = 0.0;
      orders.clear();
      continue;
    }
    if (last > 0.0) orders.push_back(std::log2(last / remainder));
    last = remainder;
    const std::size_t count = std::min(orders.size(), most_halvings);
    if (count < 2) continue;
    const double least = *std::min_element(orders.end() - static_cast<std::ptrdiff_t>(count), orders.end());
    const int halvings = static_cast<int>(count);
    if (halvings > best.halvings || (halvings == best.halvings && least > best.order)) best = {least, halvings};
  }
  return best;
}

double noise_of(std::span<const double> values) {
  constexpr double deviation_of_third = 4.47213595499958;  // the root of 20, of independent values of variance 1
  std::vector<double> third;
  for (std::size_t i = 0; i + 3 < values.size(); ++i)
    third.push_back(values[i + 3] - 3 * values[i + 2] + 3 * values[i + 1] - values[i]);
  double largest = 0.0, sum = 0.0;
  for (const double t : third) largest = std::max(largest, std::fabs(t));
  if (largest == 0.0) return 0.0;
  for (const double t : third) sum += (t / largest) * (t / largest);
  return largest * std::sqrt(sum / static_cast<double>(third.size())) / deviation_of_third;
}

}  // namespace hindsight
