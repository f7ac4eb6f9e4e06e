// Several experiments: what two groups of ranks gain over one, and what a shot costs beside its sweeps.
//
// bench.shots RESULT.json [SIDE] [STEPS], on two ranks: sources of heat seen by sensors through an unknown
// conductivity, SIDE x SIDE cells.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "bench/measure.hpp"
#include "io/case/case.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

constexpr int shots = 8, rounds = 3;

std::string text(int side, int steps) {
  std::string all = fmt::format(
      "case: heat\ngrid: {{x: {{cells: {0}, to: 1, boundary: {{value: 0}}}}, y: {{cells: {0}, to: 1}}}}\n"
      "parameters: {{kappa: {{field: \"0.5 + 0.3*sin(2*pi*x)\"}}, strength: 1}}\n"
      "state: {{T: {{initial: \"sin(pi*x)\"}}}}\n"
      "equations: {{dt(T): \"div(kappa*grad(T)) + strength*sin(3*x + y) - T^3\"}}\n"
      "time: {{method: rk4, step: {1:.6g}, to: {2:.6g}}}\n"
      "objective: [{{misfit: {{of: T, data: \"{{shot}}.csv\"}}}}]\nunknowns: {{kappa: {{}}}}\n"
      "checkpoints: {{host: 64 MB}}\nshots:\n",
      side, 0.2 / side / side, 0.2 * steps / side / side);
  for (int shot = 0; shot < shots; ++shot) all += fmt::format("  - {{shot: s{0}, parameters.strength: 1.{0}}}\n", shot);
  return all;
}

std::string folder_with_data(int side, int steps) {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("shots-{}", getpid());
  std::filesystem::create_directories(folder);
  for (int shot = 0; shot < shots; ++shot) {
    std::ofstream file(fmt::format("{}/s{}.csv", folder, shot));
    file << "time,x,y,value\n";
    for (int i = 0; i < 100; ++i)
      file << fmt::format("{:.9g},{:.3g},{:.3g},{:.3g}\n", 0.2 * steps / side / side * (1 + i % 10) / 10.0,
                          0.05 + 0.1 * (i % 10), 0.05 + 0.1 * (i / 10), 0.3);
  }
  return folder;
}

/// Waits for the others without taking a core.
void wait_idle() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int is_done = 0; is_done == 0; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

void measure(int argc, char** argv) {
  const int side = argc > 2 ? std::atoi(argv[2]) : 192, steps = argc > 3 ? std::atoi(argv[3]) : 400;
  const Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const std::string folder = folder_with_data(side, steps);
  const Case all = parse_case(folder + "/case.yaml", text(side, steps), {});
  const Case alone = parse_case(folder + "/case.yaml", text(side, steps), {}, "s3");
  const ShotGroups groups(world, world.size());
  SessionOptions shared;
  shared.groups = &groups;
  Session together(all, self, Sensitivities::adjoint, shared);
  std::unique_ptr<Session> one, single;
  if (world.is_root()) {
    one = std::make_unique<Session>(all, self, Sensitivities::adjoint);
    single = std::make_unique<Session>(alone, self, Sensitivities::adjoint);
  }
  wait_idle();
  std::vector<double> of_one, of_single, of_groups;
  for (int round = 0; round <= rounds; ++round) {
    double seconds_of_one = 0.0, seconds_of_single = 0.0;
    if (world.is_root()) {
      seconds_of_one = seconds_of([&] { one->gradient({}); });
      seconds_of_single = seconds_of([&] {
        for (int shot = 0; shot < shots; ++shot) single->gradient({});
      });
    }
    wait_idle();
    const double seconds_of_groups = world.max(seconds_of([&] { together.gradient({}); }));
    if (round == 0) continue;
    of_one.push_back(seconds_of_one);
    of_single.push_back(seconds_of_single);
    of_groups.push_back(seconds_of_groups);
  }
  Report report(fmt::format("{} shots of {} x {} cells, {} steps, {} ranks", shots, side, side, steps, world.size()));
  const double each = median(of_single) / shots, beside = (median(of_one) - median(of_single)) / shots;
  report.add("gradient of a shot", each, "s");
  report.add("what a shot takes beside it", beside * 1e3, "ms", "below 1 % of 1 s");
  report.add("the same, of a gradient of 1 s", beside * 100, "%", "below 1");
  report.add(fmt::format("{} groups of one rank over one", groups.count()), median(of_one) / median(of_groups), "",
             groups.count() == 2 ? "at least 1.85" : "");
  report.finish(argc, argv);
  std::filesystem::remove_all(folder);
}

}  // namespace hindsight::bench
