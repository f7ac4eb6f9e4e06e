// What the launcher of this process says about those that it started beside it.
#pragma once

#include <functional>
#include <string>

#include "runtime/communicator.hpp"

namespace hindsight {

/// How many processes were started together with this one, as mpirun (OMPI_COMM_WORLD_SIZE), another MPI's launcher
/// (PMI_SIZE) or srun say; 1 where nobody says so. In a job's own script, outside any step of srun, SLURM_NTASKS says
/// what a step may have, not what this process is.
/// @param variable gives a variable of the environment; "" when it is not set.
int launched_tasks(const std::function<std::string(const char*)>& variable);

/// @throws ResourceError when this process is one of several, but alone in MPI: each of them would do all the work and
/// write the same files.
void refuse_to_be_alone(const Communicator& comm);

}  // namespace hindsight
