#include "src/program.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>

#include "io/hdf5/hdf5_handle.hpp"
#include "runtime/durations.hpp"
#include "runtime/petsc.hpp"
#include "runtime/standard_streams.hpp"
#include "runtime/stop_request.hpp"
#include "src/command_line.hpp"
#include "src/launched_tasks.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"

namespace hindsight {
namespace {

/// What is explained is compiled for devices, but run by none; what is submitted runs elsewhere.
void refuse_missing_backend(const Options& options) {
  const bool is_sent = options.verb == "submit" || (options.verb == "sweep" && options.cluster.local == 0);
  if (options.verb == "explain" || is_sent) return;
  const std::string missing = chosen_backend(options).missing();
  if (!missing.empty()) throw ResourceError("--backend " + options.backend + " is not available. " + missing);
}

/// What failed before is told by its own exit code. Collective.
void require_printed(ExitCode code, const Communicator& comm) {
  try {
    comm.on_root(require_output);
  } catch (const ResourceError& error) {
    if (code == ExitCode::done) throw;
    if (comm.is_root()) print_error(std::string("hindsight: ") + error.what() + "\n");
  }
}

int run(int argc, char** argv) {
  const Communicator comm(MPI_COMM_WORLD);
  require_same_start(argc, argv, comm);
  Options options;
  options.started = process_seconds();
  const Choice choice = parse_command_line(argc, argv, options, comm.is_root());
  ExitCode code = ExitCode::done;
  if (choice.verb != nullptr) {
    if (choice.reads_case) refuse_to_be_alone(comm);
    refuse_missing_backend(options);
    for (const std::string& path : {options.json, options.picture}) require_writable(path, options.out, comm);
    code = choice.verb(options, comm);
  }
  require_printed(code, comm);
  return static_cast<int>(code);
}

/// A process that no launcher has started needs no daemon of MPI's either, which would take as long as the program's
/// own start. All such processes would have one folder for shared memory in common, which the first that ends removes
/// while others begin: they have none, and the MPI-IO that uses it is the second choice.
void do_without_launcher() {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"})
    if (std::getenv(mark) != nullptr) return;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  setenv("OMPI_MCA_io_ompio_priority", "1", 0);
}

/// Ends all ranks. When every rank fails alike, rank 0 speaks for all; when one fails alone it speaks for itself and
/// the others are stopped.
[[noreturn]] void end_with(const std::string& message, ExitCode code) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0 || code == ExitCode::bug) print_error("hindsight: " + message + "\n");
  std::fflush(nullptr);
  if (size == 1) std::_Exit(static_cast<int>(code));
  // Ranks that agree on the failure all come here; one that is alone must not wait for the others for ever.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int is_done = 0;
  const double start = MPI_Wtime();
  while (is_done == 0 && MPI_Wtime() - start < 2.0) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  if (is_done != 0) {
    MPI_Finalize();
    std::_Exit(static_cast<int>(code));
  }
  if (rank != 0 && code != ExitCode::bug) print_error(fmt::format("hindsight: rank {}: {}\n", rank, message));
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace

int run_program(int argc, char** argv) {
  if (writes_run(argc, argv)) catch_stop_signals();
  do_without_launcher();
  do_without_shared_file_pointers();
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    code = run(argc, argv);
  } catch (const Error& error) {
    end_with(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    end_with("out of memory", ExitCode::resource);
  } catch (const std::exception& error) {
    end_with(std::string("internal error: ") + error.what(), ExitCode::bug);
  }
  finish_petsc();
  MPI_Finalize();
  return code;
}

}  // namespace hindsight
