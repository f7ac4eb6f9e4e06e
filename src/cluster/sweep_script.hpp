// The batch script of a sweep: what one task of an array does with its row.
#pragma once

#include <string>

#include "src/cluster/job_script.hpp"

namespace hindsight {

/// @param folder of the sweep. @param program that computes. Paths from the root.
std::string sweep_script(const JobRequest& request, const std::string& folder, const std::string& program);

}  // namespace hindsight
