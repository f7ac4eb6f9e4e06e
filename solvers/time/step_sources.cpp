#include "solvers/time/step_sources.hpp"

#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/time/fixed_steps.hpp"

namespace hindsight {
namespace {

std::vector<StepSourceKind>& registered() {
  static std::vector<StepSourceKind> all{{"fixed", fixed_steps}};
  return all;
}

}  // namespace

const StepSourceKind& find_step_source(const std::string& name) {
  std::vector<std::string> names;
  for (const StepSourceKind& kind : registered()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw InputError("unknown source of steps '" + name + "'" + did_you_mean(name, names) + "; known: " + join(names));
}

void register_step_source(StepSourceKind kind) {
  for (const StepSourceKind& other : registered())
    if (other.name == kind.name) throw Error(ExitCode::bug, "two sources of steps are called '" + kind.name + "'");
  registered().push_back(std::move(kind));
}

}  // namespace hindsight
