// Gray-Scott, RK4: the forward step against the machine, two ranks against one, the gradient against the forward run.
// Usage: bench.gray_scott [JSON]   under mpirun -n 2 it measures the two ranks.
#include <mpi.h>

#include <cstring>

#include "bench/cases.hpp"
#include "bench/measure.hpp"

namespace hindsight::bench {
namespace {

constexpr int cells = 2048, steps = 10;
constexpr double bytes_per_cell = 208;  // read and written by a fused RK4 step of two fields, each once

void one_rank(int argc, char** argv) {
  Report report("Gray-Scott, RK4, one core");
  const Communicator self(MPI_COMM_SELF);
  Session large(gray_scott(cells, steps, 0.005), self, Sensitivities::none);
  Session small(gray_scott(256, 100, 0.05), self, Sensitivities::adjoint);
  const std::int64_t doubles = std::int64_t{2} * cells * cells;
  const Memory from(doubles), to(doubles);
  const std::vector<double> t =
      medians({[&] { large.objective({}); },
               [&] { std::memcpy(to.data(), from.data(), static_cast<std::size_t>(doubles) * sizeof(double)); },
               [&] { small.objective({}); }, [&] { small.gradient({}); }});
  const Bandwidth bandwidth = measure_bandwidth();
  const double per_cell = 1e9 / (static_cast<double>(cells) * cells);
  const double step = t[0] / steps * per_cell, copy = t[1] * per_cell;
  report.add("STREAM copy", bandwidth.copy / 1e9, "GB/s");
  report.add("STREAM triad", bandwidth.triad / 1e9, "GB/s");
  report.add("(a) forward step, 2048 x 2048", step, "ns/cell", "at most 20");
  report.add("    copy of the state", copy, "ns/cell");
  report.add("    step in state copies", step / copy, "copies", "at most 10");
  report.add("    bytes counted, of the triad's bandwidth", bytes_per_cell / step * 1e9 / bandwidth.triad, "");
  report.add("    forward step, 256 x 256", t[2] / 100 / 65536 * 1e9, "ns/cell");
  report.add("(c) store-all gradient over forward run, 256 x 256", t[3] / t[2], "", "at most 4");
  report.finish(argc, argv);
}

/// One rank with the machine to itself; each rank the whole problem for itself, all at once: what the machine gives to
/// that many processes that share nothing; all ranks together on one problem.
void several_ranks(int argc, char** argv) {
  const Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  Session together(gray_scott(cells, steps, 0.005), world, Sensitivities::none);
  Session alone(gray_scott(cells, steps, 0.005), self, Sensitivities::none);
  const std::vector<double> t = medians({[&] {
                                           if (world.is_root()) alone.objective({});
                                           wait_for_all();
                                         },
                                         [&] {
                                           alone.objective({});
                                           wait_for_all();
                                         },
                                         [&] { together.objective({}); }});
  if (!world.is_root()) return;
  Report report("Gray-Scott 2048 x 2048, RK4, " + std::to_string(world.size()) + " ranks");
  const double per_cell = 1e9 / (static_cast<double>(cells) * cells * steps);
  report.add("    one rank, the others asleep", t[0] * per_cell, "ns/cell");
  report.add("    one rank, the others busy with runs of their own", t[1] * per_cell, "ns/cell");
  report.add("    all ranks together", t[2] * per_cell, "ns/cell");
  report.add("(b) speed-up over one rank", t[0] / t[2], "", world.size() == 2 ? "at least 1.8" : "");
  report.add("    speed-up when all cores are busy in both", t[1] / t[2], "");
  report.finish(argc, argv);
}

}  // namespace

void measure(int argc, char** argv) {
  Communicator(MPI_COMM_WORLD).size() == 1 ? one_rank(argc, argv) : several_ranks(argc, argv);
}

}  // namespace hindsight::bench
