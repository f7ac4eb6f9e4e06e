#include "src/launched_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "runtime/environment.hpp"
#include "runtime/error.hpp"
#include "runtime/whole_number.hpp"

namespace hindsight {
namespace {

/// Steps of a job count from 0; the largest numbers stand for its script and for what else is no step of srun.
bool is_step(std::int64_t id) {
  constexpr std::int64_t special = 0xfffffff0;
  return id >= 0 && id < special;
}

}  // namespace

int launched_tasks(const std::function<std::string(const char*)>& variable) {
  const auto number = [&](const char* name) { return whole_number(variable(name)).value_or(-1); };
  for (const char* launcher : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const std::int64_t size = number(launcher); size > 0) return static_cast<int>(size);
  if (!is_step(std::max(number("SLURM_STEP_ID"), number("SLURM_STEPID")))) return 1;
  const std::int64_t of_step = number("SLURM_STEP_NUM_TASKS");
  return static_cast<int>(std::max<std::int64_t>(1, of_step > 0 ? of_step : number("SLURM_NTASKS")));
}

void refuse_to_be_alone(const Communicator& comm) {
  if (comm.size() > 1) return;
  const int tasks = launched_tasks(environment);
  if (tasks > 1)
    throw ResourceError(fmt::format(
        "{0} tasks were started, but in MPI this one is alone: each would do all the work. Start the ranks of one run "
        "with srun --mpi=pmix -n {0} or mpirun -n {0}, and runs of their own each with srun -n 1",
        tasks));
}

}  // namespace hindsight
