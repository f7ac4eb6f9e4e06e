#include "adjoint/problem/least_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "adjoint/plan/plan.hpp"
#include "runtime/error.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

/// Grids may have more cells than can be counted.
std::string amount_text(double bytes) {
  return bytes_text(static_cast<std::int64_t>(std::min(bytes, 9e18)));
}

std::string source_text(const NodeMemory& node) {
  return node.ranks == 1 ? node.room.source : fmt::format("for each of {} ranks ({})", node.ranks, node.room.source);
}

std::string grid_text(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : " x ") + std::to_string(axis.cells);
  return text;
}

}  // namespace

void require_memory(const LeastMemory& least, const std::vector<Axis>& axes, const Communicator& comm,
                    const Machine& machine, const std::optional<NodeMemory>& known) {
  if (axes.empty()) return;
  auto field = static_cast<double>(bytes_of(least.element));
  for (const Axis& axis : axes) field *= static_cast<double>(axis.cells);
  field /= comm.size();
  const double state = field * static_cast<double>(least.state_fields);
  const double states = state * static_cast<double>(least.states);
  const double others = field * static_cast<double>(least.other_fields);
  const NodeMemory node = known ? *known : node_memory(comm);
  const bool is_host = machine.is_host();
  const std::int64_t room = is_host ? node.share() : machine.free_bytes();
  std::string failure;
  if (states + others > static_cast<double>(room))
    failure = fmt::format(
        "the grid of {} cells is too large: {} needs at least {} of memory ({} states of {} and {} of other fields), "
        "and "
        "there are {} {}",
        grid_text(axes), comm.size() == 1 ? "it" : fmt::format("each of {} ranks", comm.size()),
        amount_text(states + others), least.states, amount_text(state), amount_text(others), bytes_text(room),
        is_host ? source_text(node) : "free on the device");
  comm.agree(failure, static_cast<int>(ExitCode::resource));
}

std::int64_t recorded_bytes(std::int64_t steps) {
  constexpr std::int64_t each = 2 * sizeof(double) + sizeof(std::int64_t);  // its time, length and number
  return each * std::min(steps, std::numeric_limits<std::int64_t>::max() / each);
}

void require_memory_of_steps(const std::string& steps, const StepRules& rules, const Communicator& comm,
                             const std::optional<NodeMemory>& known) {
  if (step_sources().find(steps).make(rules)->knows_all()) return;
  const NodeMemory node = known ? *known : node_memory(comm);
  std::string failure;
  if (const std::int64_t needed = recorded_bytes(rules.at_most); needed > node.share())
    failure = fmt::format("time.at most: the times of {} steps take {} of memory, and there are {} {}; allow fewer",
                          rules.at_most, bytes_text(needed), bytes_text(node.share()), source_text(node));
  comm.agree(failure, static_cast<int>(ExitCode::resource));
}

}  // namespace hindsight
