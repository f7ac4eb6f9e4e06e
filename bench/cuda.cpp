// A CUDA device: steps against its memory's bandwidth, transfers against bare copies, a gradient whose history is far
// larger than the device's budget against its plan. Needs a device.
// Usage: bench.cuda [JSON]   With HINDSIGHT_EMULATED set, small problems on an emulated device: to try the program.
#include <fmt/format.h>
#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>

#include "bench/cases.hpp"
#include "bench/measure.hpp"
#include "runtime/cuda/cuda_machine.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/emulated/emulated_device.hpp"
#include "runtime/error.hpp"
#include "solvers/steppers/wavefront.hpp"

namespace hindsight::bench {
namespace {

struct Sizes {
  int plane = 4096, volume = 256, small = 64, history_cells = 2048, history_steps = 400;
  std::int64_t copied = std::int64_t{1} << 26U;  // doubles
};

Case diffusion(int cells) {
  const std::string n = std::to_string(cells);
  return parse_case("bench.yaml", R"yaml(
case: diffusion-3d
grid: {x: {cells: 16, to: 1}, y: {cells: 16, to: 1}, z: {cells: 16, to: 1}}
parameters: {D: 1e-6, a: 0.1}
state: {u: {initial: "1 + x*(1 - x)*y*(1 - y)*z*(1 - z)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)"}
time: {method: rk4, step: 0.01, to: 1}
objective: [{final: "u^2"}]
unknowns: {D: {}, initial(u): {}}
checkpoints: {device: 8 slots}
)yaml",
                    {"grid.x.cells=" + n, "grid.y.cells=" + n, "grid.z.cells=" + n});
}

double seconds_on(Machine& machine, int times, const std::function<void()>& work) {
  machine.finish();
  return seconds_of([&] {
           for (int i = 0; i < times; ++i) work();
           machine.finish();
         }) /
         times;
}

/// Bytes that a plain step must move per cell.
double step_bytes(const Session& session) {
  const auto [read, written] = session.simulation().stepper().traffic_of_step().value();
  return read + written;
}

/// Each session has a budget, so a machine, of its own.
using MakeMachine = std::function<std::shared_ptr<Machine>()>;

void steps(Report& report, const std::string& what, const Case& c, const MakeMachine& make, double bandwidth) {
  SessionOptions options;
  options.machine = make();
  const Session session(c, Communicator(MPI_COMM_SELF), Sensitivities::adjoint, options);
  options.machine = make();
  Wavefront::ask(walks::Never{});
  const Session by_passes(c, Communicator(MPI_COMM_SELF), Sensitivities::adjoint, options);
  Wavefront::ask(walks::AsItPays{});
  const OperationSeconds& s = session.plan_inputs().seconds;
  const auto cells = static_cast<double>(session.simulation().grid().interior().cells());
  report.add(what + ": forward step", s.forward * 1e6, "us");
  report.add("    bytes counted, of a device copy's bandwidth", step_bytes(session) * cells / s.forward / bandwidth, "",
             bandwidth > 0 && cells > 1e6 ? "at least 0.6" : "");
  report.add("    over one of pass by pass", s.forward / by_passes.plan_inputs().seconds.forward, "",
             session.simulation().grid().dimensions() == 2 && cells > 1e6 ? "at most 0.6" : "");
  report.add("    adjoint step over forward step", s.reverse / s.forward, "", cells > 1e6 ? "at most 3" : "");
}

/// Kernels as short as a step's of a small problem.
void launches(Report& report, Machine& machine) {
  const Grid grid({{"x", 64, 0, 1, true}}, Communicator(MPI_COMM_SELF), {0, 0, 0}, machine);
  const Memory field(grid.layout().size, machine);
  const CellBlock cells = grid.block(grid.interior(), CellArray(field.data() + grid.layout().origin));
  const auto four = [&] {
    for (int i = 0; i < 4; ++i) grid.operations().zero(grid.cells(), cells);
  };
  const auto batch = [&] { machine.batch(four); };
  seconds_on(machine, 10, batch);
  const double alone = seconds_on(machine, 5000, four);
  report.add("four short kernels, one by one", alone * 1e6, "us");
  report.add("    as a batch that comes again, over that", seconds_on(machine, 5000, batch) / alone, "");
}

/// Copies between page-locked memory and the device while steps are taken: their speed beside that without steps, and
/// what the steps lose.
void beside(Report& report, const Sizes& sizes, const Case& c, const MakeMachine& make) {
  SessionOptions options;
  options.machine = make();
  Machine& machine = *options.machine;
  const Memory there(sizes.copied, machine), near(sizes.copied, machine.near_host());
  Session session(c, Communicator(MPI_COMM_SELF), Sensitivities::adjoint, options);
  const std::unique_ptr<Event> event = machine.event(Waiting::sleeps);
  event->set();
  const double bytes = 8.0 * static_cast<double>(sizes.copied);
  const auto forward = [&] { session.objective({}); };
  forward();
  for (const bool is_out : {true, false}) {
    std::vector<double> slower, speed;
    for (int round = 0; round < repetitions; ++round) {
      const double alone = seconds_on(machine, 1, forward);
      std::atomic<bool> is_over = false;
      double copying = 0.0;
      std::int64_t copies = 0;
      const auto copy = [&](Link& link) {
        is_out ? link.copy(near.data(), there.data(), sizes.copied)
               : link.copy(there.data(), near.data(), sizes.copied);
      };
      std::future<void> copier = std::async(std::launch::async, [&] {
        const std::unique_ptr<Link> link = machine.link();
        link->wait(*event);
        while (!is_over) {
          copying += seconds_of([&] { copy(*link); });
          ++copies;
        }
      });
      double together = 0.0;
      try {
        together = seconds_on(machine, 1, forward);
      } catch (...) {
        is_over = true;
        throw;
      }
      is_over = true;
      copier.get();
      const std::unique_ptr<Link> link = machine.link();
      link->wait(*event);
      const double bare = seconds_on(machine, 5, [&] { copy(*link); });
      slower.push_back(together / alone - 1);
      speed.push_back(bare * static_cast<double>(copies) / copying);
    }
    report.add(std::string("copies ") + (is_out ? "out" : "in") + " while stepping, of " +
                   fmt::format("{:.3g}", bytes / 1e6) + " MB each: speed over that without steps",
               median(speed), "", "at least 0.9");
    report.add("    steps take longer by", 100 * median(slower), "%", "at most 5");
  }
}

/// A history of many times the device's budget, in host memory.
void history(Report& report, const Sizes& sizes, const MakeMachine& make) {
  SessionOptions options;
  options.machine = make();
  Session session(gray_scott(sizes.history_cells, sizes.history_steps, 0.005,
                             {"checkpoints.schedule=auto", "checkpoints.device=20 slots"}),
                  Communicator(MPI_COMM_SELF), Sensitivities::adjoint, options);
  std::vector<double> over_plan;
  for (int i = 0; i < 5; ++i) over_plan.push_back(session.gradient({}).seconds / session.plan().seconds);
  const auto& inputs = session.plan_inputs();
  const auto host = static_cast<std::size_t>(Tier::host);
  const double bytes = static_cast<double>(inputs.state_bytes);
  report.add("history " + std::to_string(sizes.history_steps / 20) + " times the device's checkpoints, schedule " +
                 session.plan().kind->name + ": time over plan",
             median(over_plan), "", "within 8 %");
  report.add("    state to host memory, while stepping", bytes / inputs.seconds.write[host] / 1e9, "GB/s");
  report.add("    state from host memory, while stepping", bytes / inputs.seconds.read[host] / 1e9, "GB/s");
}

}  // namespace

void measure(int argc, char** argv) {
  Sizes sizes;
  MakeMachine make = [] { return cuda::open_machine(Communicator(MPI_COMM_SELF)); };
  if (std::getenv("HINDSIGHT_EMULATED") != nullptr) {
    sizes = {64, 16, 16, 32, 60, 1 << 16};
    make = [] { return emulated::open_machine(); };
  } else if (const cuda::DeviceReport found = cuda::report(); found.devices == 0) {
    throw ResourceError(found.sentence);
  }
  const std::shared_ptr<Machine> machine = make();
  Report report("CUDA: " + machine->description());
  const Memory from(sizes.copied, *machine), to(sizes.copied, *machine), near(sizes.copied, machine->near_host());
  const double bytes = 8.0 * static_cast<double>(sizes.copied);
  const auto copy = [&] { machine->copy(to.data(), from.data(), sizes.copied); };
  seconds_on(*machine, 3, copy);
  const double bandwidth = 2 * bytes / seconds_on(*machine, 20, copy);
  report.add("device copy, read and written", bandwidth / 1e9, "GB/s");
  const std::unique_ptr<Event> event = machine->event(Waiting::sleeps);
  const std::unique_ptr<Link> link = machine->link();
  event->set();
  link->wait(*event);
  const auto out = [&] { link->copy(near.data(), from.data(), sizes.copied); };
  const auto in = [&] { link->copy(to.data(), near.data(), sizes.copied); };
  seconds_on(*machine, 2, out);
  report.add("page-locked memory, out", bytes / seconds_on(*machine, 10, out) / 1e9, "GB/s");
  report.add("page-locked memory, in", bytes / seconds_on(*machine, 10, in) / 1e9, "GB/s");
  launches(report, *machine);
  const auto square = [](int n) {  // stable up to 4096 cells
    return gray_scott(n, 100, 0.001, {"checkpoints.schedule=auto", "checkpoints.device=8 slots"});
  };
  const auto text = [](int n, const char* rest) { return std::to_string(n) + rest; };
  steps(report, "Gray-Scott, RK4, " + text(sizes.plane, " squared"), square(sizes.plane), make, bandwidth);
  steps(report, "diffusion, RK4, " + text(sizes.volume, " cubed"), diffusion(sizes.volume), make, bandwidth);
  steps(report, "Gray-Scott, RK4, " + text(sizes.small, " squared"), square(sizes.small), make, bandwidth);
  beside(report, sizes, square(sizes.plane), make);
  history(report, sizes, make);
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
