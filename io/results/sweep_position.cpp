#include "io/results/sweep_position.hpp"

#include <algorithm>

namespace hindsight {
namespace {

double ratio(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(all, 1));
}

/// Whether steps() is what the run has, and not what it may have at most.
bool end_is_reached(const TimeLine& time) {
  return time.is_known() ? time.steps() < time.recorded() : time.steps() == time.recorded();
}

}  // namespace

SweepPosition position_of(const TimeLine& time, const SweepExtent& extent, std::int64_t forward,
                          std::int64_t reversed) {
  const std::int64_t done = forward + reversed, n = time.steps();
  if (counts_in_advance(time, extent.has_condition))
    return SweepPosition::counted(done, std::max<std::int64_t>(extent.planned, 1));
  const double of_forward = extent.reverses ? 0.5 : 1.0;
  if (reversed > 0 || end_is_reached(time)) {
    const double way = reversed > 0 ? 1.0 : ratio(std::min(forward, n), n);
    return {done, std::max(forward, n) + (extent.reverses ? n : 0), of_forward * way + 0.5 * ratio(reversed, n)};
  }
  const double from = time.landings().front(), end = time.landings().back();
  const double t = time.time(std::min(forward, time.recorded()));
  SweepPosition position{done, 0, std::nullopt, SweepPosition::Reached{t, end, extent.has_condition}};
  if (!extent.has_condition) position.part = of_forward * (t - from) / (end - from);
  return position;
}

}  // namespace hindsight
