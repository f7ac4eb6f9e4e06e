// Into how many groups of ranks a case with shots divides the ranks.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "src/verbs.hpp"

namespace hindsight {
namespace {

/// Whether each group can plan its shots in the memory that it has.
bool fits(const Options& options, const Case& c, const ShotGroups& groups, Sensitivities sensitivities) {
  try {
    SessionOptions trial = session_options(options, c, groups.world(), nullptr, &groups);
    trial.only_plan = true;
    trial.shows_progress = false;
    const Session session(c, groups.group(), sensitivities, std::move(trial));
    return true;
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {  // of all groups
    return false;
  }
}

}  // namespace

std::unique_ptr<ShotGroups> make_groups(const Options& options, const Case& c, const Communicator& comm,
                                        Sensitivities sensitivities) {
  const auto shots = static_cast<int>(c.shots.size());
  if (options.groups > 0) {
    if (shots == 0 && options.groups > 1)
      throw InputError(fmt::format("--groups {}: groups of ranks share shots, and the case has none", options.groups));
    auto groups = std::make_unique<ShotGroups>(comm, options.groups);
    if (options.groups > std::max(1, shots))
      throw InputError(fmt::format("--groups {}: the case has {} shots, one for each group at least is needed",
                                   options.groups, shots));
    return options.groups > 1 ? std::move(groups) : nullptr;
  }
  for (int size = 1; size < comm.size(); ++size) {
    if (comm.size() % size != 0 || comm.size() / size > shots) continue;
    auto groups = std::make_unique<ShotGroups>(comm, comm.size() / size);
    if (fits(options, c, *groups, sensitivities)) return groups;
  }
  return nullptr;
}

}  // namespace hindsight
