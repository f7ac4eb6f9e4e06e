#include "src/cluster/job_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "io/slurm/slurm.hpp"
#include "runtime/durations.hpp"
#include "runtime/environment.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// Whole MiB, of "8 GiB", "500 MB", or as SLURM writes it, "8G".
std::int64_t memory_bytes(const std::string& text) {
  static const std::regex size(R"(\s*(\d+(?:\.\d+)?)\s*([KMGT])(i?)(B?)\s*)");
  std::smatch found;
  if (!std::regex_match(text, found, size))
    throw InputError("--memory: '" + text + "' is no size; write for example '8 GiB', '500 MB' or 8G");
  const bool is_decimal = found[3].length() == 0 && found[4].length() > 0;
  const auto power = static_cast<double>(std::string("KMGT").find(found[2].str()) + 1);
  const double bytes = std::stod(found[1]) * std::pow(is_decimal ? 1000.0 : 1024.0, power);
  constexpr double least = 1 << 20, most = 1e15;
  if (bytes < least || bytes > most) throw InputError("--memory: '" + text + "' is no memory of a node");
  return static_cast<std::int64_t>(bytes);
}

/// Whether SLURM chooses the partition by what is not known here.
bool is_routed(const JobRequest& request) {
  const auto routes = [](const std::string& option) {
    return option.starts_with("-p") || option.starts_with("--partition") || option.starts_with("-q") ||
           option.starts_with("--qos");
  };
  const bool is_asked = std::any_of(request.sbatch.begin(), request.sbatch.end(), routes);
  return is_asked || (request.partition.empty() && !environment("SBATCH_PARTITION").empty()) ||
         !environment("SBATCH_QOS").empty();
}

void require_partition(const JobRequest& request) {
  if (is_routed(request)) return;
  const std::optional<Partition> partition = find_partition(request.partition);
  if (!partition) return;  // SLURM refuses what it does not know, in its own words
  if (request.ranks > partition->cores)
    throw InputError(
        fmt::format("--ranks {}: the partition '{}' has {} cores", request.ranks, partition->name, partition->cores));
  if (request.nodes > partition->nodes)
    throw InputError(
        fmt::format("--nodes {}: the partition '{}' has {}", request.nodes, partition->name, partition->nodes));
  // Many clusters take such a job, which waits for ever.
  if (partition->seconds > 0 && request.seconds > partition->seconds)
    throw InputError(fmt::format("--time: the limit of jobs in the partition '{}' is {}", partition->name,
                                 limit_text(partition->seconds)));
}

/// Its jobs would be looked for here. @throws InputError
void require_this_cluster(const JobRequest& request) {
  for (const char* variable : {"SBATCH_CLUSTERS", "SLURM_CLUSTERS"})
    if (!environment(variable).empty())
      throw InputError(std::string(variable) + " sends jobs to another cluster, where they cannot be followed from " +
                       "here; unset it, or submit on that cluster's login node");
  for (const std::string& option : request.sbatch)
    if (option.starts_with("--cluster") || (option.starts_with("-M") && !option.starts_with("--")))
      throw InputError("'" + option + "' sends jobs to another cluster, where they cannot be followed from here; " +
                       "submit on that cluster's login node");
}

}  // namespace

JobRequest job_request(const ClusterOptions& options, const std::string& name) {
  JobRequest request;
  request.name = name;
  request.ranks = static_cast<int>(options.ranks);
  request.nodes = static_cast<int>(options.nodes);
  if (!options.time.empty()) request.seconds = parse_duration(options.time);
  request.account = options.account;
  request.partition = options.partition;
  if (!options.memory.empty()) request.memory = memory_bytes(options.memory);
  if (!options.launcher.empty()) request.launcher = options.launcher;
  request.sbatch = options.sbatch;
  if (request.nodes > request.ranks)
    throw InputError(fmt::format("--nodes {}: there are {} ranks for them", request.nodes, request.ranks));
  require_this_cluster(request);
  if (options.local == 0) require_partition(request);
  return request;
}

void require_time(const JobRequest& request, double stopping) {
  constexpr double starting = 5.0;  // seconds for MPI, the case and its kernels
  const double needed = starting + stopping + margin;
  if (request.seconds > 0 && request.seconds < needed)
    throw InputError(
        fmt::format("--time: a job of {:.0f} s would have to stop before it began: starting and stopping "
                    "take about {:.0f} s",
                    request.seconds, needed));
}

}  // namespace hindsight
