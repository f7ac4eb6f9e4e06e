#include "src/step_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace hindsight {
namespace {

/// The median of some copies of a state, or of its beginning, which no cache holds; again and again for some
/// milliseconds each.
double bandwidth_of_copies(std::int64_t state_bytes, const Communicator& comm) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t most = 256 << 20, at_least = 64 << 20;
  constexpr int times = 5;
  const std::int64_t bytes = std::min(state_bytes, most), again = at_least / bytes + 1;
  std::vector<char> from, to;
  comm.together([&] {
    from.assign(static_cast<std::size_t>(bytes), 1);
    to = from;
  });
  std::vector<double> found;
  for (int time = 0; time < times; ++time) {
    comm.any(false);  // all begin at once
    const Clock::time_point begin = Clock::now();
    for (std::int64_t i = 0; i < again; ++i) {
      std::memcpy(to.data(), from.data(), static_cast<std::size_t>(bytes));
      std::swap(to, from);
    }
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    found.push_back(static_cast<double>(2 * bytes * again) / seconds.count());
  }
  std::ranges::nth_element(found, found.begin() + times / 2);
  return found[times / 2];
}

}  // namespace

std::optional<StepRoofline> step_roofline(const Session& session) {
  const Simulation& simulation = session.simulation();
  const Grid& grid = simulation.grid();
  const auto traffic = simulation.stepper().traffic_of_step();
  if (!traffic || grid.dimensions() == 0 || !grid.machine().is_host()) return {};
  StepRoofline found{traffic->first, traffic->second};
  found.bandwidth = bandwidth_of_copies(simulation.state_bytes(), session.communicator());
  found.measured = session.plan_inputs().seconds.forward / static_cast<double>(grid.interior().cells());
  return found;
}

std::string to_text(const StepRoofline& roofline) {
  return fmt::format(
      "\nA step, per cell\n"
      "  it must move     {} bytes read, {} written\n"
      "  that would take  {:.3g} ns as fast as a copy of a state here, {:.3g} GB/s\n"
      "  measured         {:.3g} ns\n",
      roofline.read, roofline.written, 1e9 * roofline.least(), 1e-9 * roofline.bandwidth, 1e9 * roofline.measured);
}

}  // namespace hindsight
