// From the command line to what a job asks for.
#pragma once

#include "src/cluster/job_script.hpp"
#include "src/options.hpp"

namespace hindsight {

/// @param name of the job. @throws InputError for what is no size or duration, and for more ranks or nodes than the
/// partition has, as far as SLURM says.
JobRequest job_request(const ClusterOptions& options, const std::string& name);

/// @param stopping seconds that a run takes to stop. @throws InputError when a job of this limit would have stopped
/// before it began.
void require_time(const JobRequest& request, double stopping);

}  // namespace hindsight
