// schedule, info, init, schema: verbs that tell without running a case.
#include <fmt/format.h>

#include "adjoint/schedule/report.hpp"
#include "runtime/backends.hpp"
#include "runtime/host/compiler.hpp"
#include "runtime/host/target.hpp"
#include "runtime/kernel_cache.hpp"
#include "runtime/standard_streams.hpp"
#include "solvers/steppers/methods.hpp"
#include "src/report.hpp"
#include "src/session.hpp"
#include "src/verbs.hpp"

namespace hindsight {

void print(const Communicator& comm, const std::string& text) {
  if (comm.is_root()) print_output(text);
}

void say(const Options& options, const Communicator& comm, const std::string& text) {
  if (!options.quiet && options.json != "-") print(comm, text);
}

ExitCode info_verb(const Options& options, const Communicator& comm) {
  const host::Target target = host::target();
  const HostBudget memory = default_host_budget(comm);
  std::vector<std::string> methods, kinds;
  for (const Method& m : hindsight::methods().all()) methods.push_back(fmt::format("{} (order {})", m.name, m.order));
  for (const ScheduleKind& k : schedules().all()) kinds.push_back(k.name);
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
    return text;
  };
  Json json = {{"version", program_version()},
               {"commit", build_commit()},
               {"methods", methods},
               {"schedules", kinds},
               {"compiler", host::compiler_report()},
               {"march", target.march},
               {"processor", target.processor},
               {"fma", target.has_fma},
               {"cache", KernelCache::folder()},
               {"host_budget", {{"bytes", memory.bytes}, {"source", memory.source}}},
               {"ranks", comm.size()}};
  std::string devices;
  for (const Backend* const backend : backends()) {
    const std::optional<BackendReport> report = backend->report();
    if (!report) continue;
    devices += fmt::format("{:<16} {}\n", report->title, report->sentence);
    for (const auto& [key, value] : report->facts) std::visit([&, &k = key](const auto& v) { json[k] = v; }, value);
  }
  write_json(options, comm, json);
  if (options.json == "-") return ExitCode::done;
  print(comm,
        fmt::format("hindsight {}\ncommit           {}\nranks            {}\nmethods          {}\nschedules        {}\n"
                    "kernel compiler  {}\nkernels for      {}, {} fused multiply-add\nkernel cache     {}\n"
                    "host memory      {} for a gradient unless a case says: {}\n"
                    "{}",
                    program_version(), build_commit(), comm.size(), list(methods), list(kinds), host::compiler_report(),
                    target.text(), target.has_fma ? "with" : "without", KernelCache::folder(), bytes_text(memory.bytes),
                    memory.source, devices));
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
