// schedule, info, init, schema: verbs that tell without running a case.
#include <fmt/format.h>

#include "adjoint/schedule/report.hpp"
#include "src/backend/cuda/device.hpp"
#include "src/backend/cuda/nvrtc.hpp"
#include "src/backend/host/compiler.hpp"
#include "src/backend/host/target.hpp"
#include "src/backend/kernel_cache.hpp"
#include "src/program/report.hpp"
#include "src/program/session.hpp"
#include "src/program/verbs.hpp"
#include "src/standard_streams.hpp"

namespace hindsight {

void print(const Communicator& comm, const std::string& text) {
  if (comm.is_root()) print_output(text);
}

ExitCode info_verb(const Options& options, const Communicator& comm) {
  const cuda::DeviceReport device = cuda::report();
  const host::Target target = host::target();
  const HostBudget memory = default_host_budget(comm);
  std::vector<std::string> methods, kinds;
  for (const Tableau& t : tableaux()) methods.push_back(fmt::format("{} (order {})", t.name, t.order));
  for (const ScheduleKind& k : schedules()) kinds.push_back(k.name);
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
    return text;
  };
  write_json(options, comm,
             {{"version", program_version()},
              {"commit", build_commit()},
              {"methods", methods},
              {"schedules", kinds},
              {"cuda", device.sentence},
              {"cuda_toolkit", device.toolkit},
              {"devices", device.devices},
              {"mpi_takes_devices", cuda::mpi_takes_devices()},
              {"nvrtc", cuda::compiler_report().sentence},
              {"compiler", host::compiler_report()},
              {"march", target.march},
              {"processor", target.processor},
              {"fma", target.has_fma},
              {"cache", KernelCache::folder()},
              {"host_budget", {{"bytes", memory.bytes}, {"source", memory.source}}},
              {"ranks", comm.size()}});
  if (options.json == "-") return ExitCode::done;
  print(comm,
        fmt::format("hindsight {}\ncommit           {}\nranks            {}\nmethods          {}\nschedules        {}\n"
                    "kernel compiler  {}\nkernels for      {}, {} fused multiply-add\nkernel cache     {}\n"
                    "host memory      {} for a gradient unless a case says: {}\n"
                    "CUDA             {} {}. MPI {} addresses of devices.\n",
                    program_version(), build_commit(), comm.size(), list(methods), list(kinds), host::compiler_report(),
                    target.text(), target.has_fma ? "with" : "without", KernelCache::folder(), bytes_text(memory.bytes),
                    memory.source, device.sentence, cuda::compiler_report().sentence,
                    cuda::mpi_takes_devices() ? "takes" : "does not take"));
  return ExitCode::done;
}

ExitCode init_verb(const Options& options, const Communicator& comm) {
  print(comm, case_template(options.target));
  return ExitCode::done;
}

ExitCode schema_verb(const Options& options, const Communicator& comm) {
  write_json(options, comm, Json::parse(case_schema()));
  if (options.json.empty()) print(comm, case_schema());
  return ExitCode::done;
}

}  // namespace hindsight
