#include "src/cluster/begun_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "adjoint/problem/discretisation.hpp"
#include "adjoint/problem/problem_text.hpp"
#include "runtime/nearest_name.hpp"
#include "src/run_claim.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

void require_verb(const Case& c, const std::string& verb) {
  std::vector<std::string> names;
  for (const VerbEntry& entry : verbs())
    if (entry.can_be_resumed) names.emplace_back(entry.name);
  if (std::find(names.begin(), names.end(), verb) == names.end())
    throw InputError("no run is of the verb '" + verb + "'" + did_you_mean(verb, names) + " (verbs: " + join(names) +
                     ")");
  if (verb != "run" && c.unknowns.empty())
    throw InputError(SourcePlace{c.file, 0, 0}, "hindsight " + verb + " needs unknowns: add them to the case");
}

}  // namespace

void require_runnable(const Case& c, const std::string& verb, int ranks) {
  require_verb(c, verb);
  SimulationSpec spec = read_problem(c);
  const bool differentiates = verb != "run";
  const Discretisation all(spec, Communicator(MPI_COMM_SELF), {.adjoint = differentiates, .tangent = verb == "check"},
                           Machine::host());
  all.require_room_for(ranks);
}

std::string run_folder(const std::string& path) {
  std::string run = std::filesystem::absolute(path).lexically_normal().string();
  if (run.size() > 1 && run.back() == '/') run.pop_back();
  return run;
}

void require_alone(const Communicator& comm, const std::string& verb) {
  if (comm.size() > 1)
    throw InputError("hindsight " + verb + " sends jobs and computes nothing: start it without mpirun or srun");
}

void leave_begun(const Options& options, const Case& c, int ranks) {
  RunClaim claim(options, c, Communicator(MPI_COMM_SELF));
  claim.leave_begun(ranks);
}

double state_bytes(const Case& c) {
  double values = static_cast<double>(c.state.size());
  if (c.grid)
    for (const AxisText& axis : c.grid->axes) values *= static_cast<double>(axis.cells);
  return sizeof(double) * values;
}

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace hindsight
