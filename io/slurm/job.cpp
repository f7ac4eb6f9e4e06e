#include "io/slurm/job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "runtime/environment.hpp"
#include "runtime/whole_number.hpp"

namespace hindsight {
namespace {

bool is_word(const std::string& text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

}  // namespace

std::optional<JobIdentity> this_job(const std::function<std::string(const char*)>& variable) {
  if (variable("SLURMD_NODENAME").empty()) return std::nullopt;  // a shell that has an allocation, elsewhere
  const JobIdentity job{variable("SLURM_CLUSTER_NAME"), variable("SLURM_JOB_ID"),
                        static_cast<int>(whole_number(variable("SLURM_RESTART_COUNT")).value_or(0)),
                        static_cast<std::int64_t>(geteuid())};
  if (!is_word(job.cluster) || whole_number(job.job).value_or(-1) < 0) return std::nullopt;
  return job;
}

std::optional<JobIdentity> this_job() {
  return this_job([](const char* name) { return environment(name); });
}

std::string to_text(const JobIdentity& job) {
  return fmt::format("{} {} {} {}", job.cluster, job.job, job.restart, job.user);
}

std::optional<JobIdentity> parse_job(const std::string& text) {
  std::istringstream words(text);
  JobIdentity job;
  std::string restart, user, more;
  words >> job.cluster >> job.job >> restart >> user;
  job.restart = static_cast<int>(whole_number(restart).value_or(-1));
  job.user = whole_number(user).value_or(-1);
  if (words >> more || whole_number(job.job).value_or(-1) < 0 || job.restart < 0 || job.user < 0) return std::nullopt;
  return job;
}

}  // namespace hindsight
