// What keeping a journal costs a gradient: the same one with and without, in turn. Where a session's memory lies makes
// a difference of a per cent or two, so that one session without a journal is made before and one after.
#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/measure.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

namespace fs = std::filesystem;

constexpr int rounds = 9;

const char* const flow = R"yaml(
case: waves
grid: {x: {cells: 256, to: 1}, y: {cells: 256, to: 1}}
parameters: {D: 1e-5, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 600}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {D: {}, a: {}}
checkpoints: {schedule: revolve, host: 60 slots}
)yaml";

}  // namespace

void measure(int argc, char** argv) {
  const Communicator comm(MPI_COMM_SELF);
  const fs::path folder = fs::temp_directory_path() / "hindsight-bench-journal";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "case.yaml") << flow;
  Options options;
  options.verb = "gradient";
  options.target = folder / "case.yaml";
  options.out = folder / "run";
  const Case c = read_case(options.target, {});
  Session before(c, comm, Sensitivities::adjoint);
  RunJournal journal(options, c, comm);
  SessionOptions plan;
  plan.journal = &journal;
  Session kept(c, comm, Sensitivities::adjoint, plan);
  journal.begin(c, kept.simulation().kept_bytes());
  Session after(c, comm, Sensitivities::adjoint);
  const std::vector<double> t =
      medians({[&] { before.gradient({}); }, [&] { kept.gradient({}); }, [&] { after.gradient({}); }}, rounds);
  const double without = (t[0] + t[2]) / 2;
  Report report("A journal, 6000 RK4 steps on 256 x 256 cells, Revolve with 60 slots");
  report.add("gradient without", t[0], "s");
  report.add("gradient without, again", t[2], "s");
  report.add("gradient with a journal", t[1], "s");
  report.add("with over without", t[1] / without, "", "at most 1.01");
  report.add("    time in epochs, as the journal counts it, over the gradients'",
             journal.seconds_of_epochs() / ((rounds + 1) * t[1]), "", "at most 0.01");
  report.add("epochs per gradient", static_cast<double>(journal.epoch()) / (rounds + 1), "");
  report.add("bytes of an epoch", static_cast<double>(kept.simulation().kept_bytes()), "");
  journal.finish();
  fs::remove_all(folder);
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
