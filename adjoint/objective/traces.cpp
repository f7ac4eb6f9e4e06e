#include "adjoint/objective/traces.hpp"

#include <cmath>

namespace hindsight {
namespace {

/// Times as tables have them: of few digits.
constexpr double slack = 1e-6;

/// Between times that lie equally far apart; 0: they do not.
double interval_of(const std::vector<PointObservation>& observations, const Traces& traces) {
  if (traces.times < 2) return 0.0;
  const double first = observations.front().time;
  const double interval = (observations.back().time - first) / static_cast<double>(traces.times - 1);
  for (std::size_t t = 0; t < traces.times; ++t) {
    const double expected = first + static_cast<double>(t) * interval;
    if (!(std::fabs(observations[t * traces.places].time - expected) <= slack * interval)) return 0.0;
  }
  return interval;
}

}  // namespace

std::optional<Traces> traces_in(const std::vector<PointObservation>& observations) {
  Traces traces;
  const std::size_t count = observations.size();
  while (traces.places < count && observations[traces.places].time == observations.front().time) ++traces.places;
  if (traces.places == 0 || count % traces.places != 0) return std::nullopt;
  traces.times = count / traces.places;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = i % traces.places;
    const bool is_of_time = observations[i].time == observations[i - place].time;
    const bool is_next = i < traces.places || place > 0 || observations[i].time > observations[i - 1].time;
    if (!is_of_time || !is_next || observations[i].at != observations[place].at) return std::nullopt;
  }
  traces.interval = interval_of(observations, traces);
  return traces;
}

}  // namespace hindsight
