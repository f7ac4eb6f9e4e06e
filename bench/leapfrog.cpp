// Leapfrog with differences of order 8 beside the same written by hand (wave_by_hand.cpp, -O3 -march=native
// -ffast-math): forward, with what absorbs beside it, and the gradient with everything kept and with 2 % of that
// memory. Usage: bench.leapfrog [JSON]   under mpirun --bind-to none, ranks stand beside as many threads of what
// is by hand.
#include <fmt/format.h>

#include "bench/measure.hpp"
#include "bench/wave_by_hand.hpp"
#include "io/case/case.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

enum class Sides { reflect, sponge, pml };

/// Forward so many times as many steps are taken as in a gradient: what comes once in a run does not count then.
constexpr int longer = 8;

/// A wave below a free surface in an unknown medium.
Case wave(int nx, int nz, int steps, Sides sides, const std::string& checkpoints, Element precision) {
  const bool damped = sides == Sides::sponge;
  const double x = 0.03 * nx, z = 0.03 * nz;
  return parse_case(
      "wave.yaml",
      fmt::format("case: wave\nprecision: {}\ngrid:\n  x: {{cells: {}, to: {}, boundary: {{value: 0}}}}\n"
                  "  y: {{cells: {}, to: {}, boundary: {{value: 0}}}}\n  order: 8\n"
                  "parameters:\n  c: {{field: \"1.5 + 3*y/{}\"}}\n"
                  "  s: {{field: \"60*(max(0, max(0.75 - x, x - {}))^2 + max(0, y - {})^2)/0.75^2\"}}\n"
                  "state: {{u: {{initial: \"exp(-((x - {})^2 + (y - 0.5)^2)/0.02)\"}}}}\n"
                  "equations: {{dtt(u): \"c^2*lap(u){}\"}}\n"
                  "time: {{method: leapfrog, step: 0.003, to: {:.6g}}}\n"
                  "objective: [{{final: \"u^2\"}}]\nunknowns: {{c: {{}}}}\n{}checkpoints: {}\n",
                  name_of(precision), nx, x, nz, z, z, x - 0.75, z - 0.75, x / 2, damped ? " - s*dt(u)" : "",
                  0.003 * steps, sides == Sides::pml ? "absorb: {pml: 10}\n" : "", checkpoints),
      {});
}

template <class Real>
void compare(Report& report, int nx, int nz, int steps) {
  const Communicator world(MPI_COMM_WORLD);
  const Element precision = sizeof(Real) == 8 ? Element::float64 : Element::float32;
  const double all = static_cast<double>(sizeof(Real)) * nx * nz * steps / world.size();  // per rank, as budgets are
  const std::string room = "{host: 8 GiB}";
  const auto session = [&](Sides sides, const std::string& checkpoints, Sensitivities wanted) {
    const int all_steps = wanted == Sensitivities::none ? longer * steps : steps;
    return Session(wave(nx, nz, all_steps, sides, checkpoints, precision), world, wanted);
  };
  Session forward = session(Sides::reflect, room, Sensitivities::none);
  Session damped = session(Sides::sponge, room, Sensitivities::none);
  Session matched = session(Sides::pml, room, Sensitivities::none);
  Session kept = session(Sides::reflect, room, Sensitivities::adjoint);
  Session kept_matched = session(Sides::pml, room, Sensitivities::adjoint);
  const auto working = static_cast<double>(kept.plan_inputs().working(Tier::host));
  const double least = 2.1 * static_cast<double>(kept.simulation().state_bytes());  // one checkpoint
  const double room_of_little = working + std::max(0.02 * all, least);
  const double drift = sizeof(Real) == 8 ? 1e-6 : 1e-3;
  Session little = session(Sides::reflect, fmt::format("{{host: {:.0f} B, accept: {}}}", room_of_little, drift),
                           Sensitivities::adjoint);
  WaveByHand<Real> hand(nx, nz, world.is_root() ? steps : 0, world.size());
  using Part = void (WaveByHand<Real>::*)();
  const auto by_first = [&](Part part) {
    return [&hand, &world, part] {
      if (world.is_root()) (hand.*part)();
      if (world.size() > 1) wait_for_all();
    };
  };
  const std::vector<double> t =
      medians({[&] { forward.objective({}); }, [&] { damped.objective({}); }, [&] { kept.gradient({}); },
               [&] { little.gradient({}); },
               [&] {
                 for (int i = 0; i < longer; ++i) by_first (&WaveByHand<Real>::forward)();
               },
               by_first(&WaveByHand<Real>::forward_kept), by_first(&WaveByHand<Real>::adjoint),
               [&] { matched.objective({}); }, [&] { kept_matched.gradient({}); }});
  const double each = 1e9 / (static_cast<double>(nx) * nz * steps), each_forward = each / longer;
  const double by_hand = t[5] + t[6];
  report.add(fmt::format("{} x {}, {}, forward", nx, nz, name_of(precision)), t[0] * each_forward, "ns/cell");
  report.add("    damped", t[1] * each_forward, "ns/cell");
  report.add("    with a pml of 10 cells on all sides", t[7] * each_forward, "ns/cell");
  report.add("    over that without", t[7] / t[0], "", "at most 1.2");
  report.add("    by hand", t[4] * each_forward, "ns/cell");
  report.add("    over by hand", t[0] / t[4], "", nx < 1000 ? "at most 1.15" : "at most 0.8");
  report.add("    gradient, " + kept.plan().kind->name, t[2] * each, "ns/cell");
  report.add("    with a pml of 10 cells", t[8] * each, "ns/cell");
  report.add("    by hand: forward, all kept", t[5] * each, "ns/cell");
  report.add("    by hand: adjoint", t[6] * each, "ns/cell");
  report.add("    over by hand, both", t[2] / by_hand, "", "at most 1.15");
  report.add("    gradient in 2 % of the memory, " + little.plan().kind->name, t[3] * each, "ns/cell");
  report.add("    over by hand, all kept", t[3] / by_hand, "", "at most 1.4");
  if (hand.checksum() < 0) report.add("", 0, "");  // what it computed is used
}

}  // namespace

void measure(int argc, char** argv) {
  const int ranks = Communicator(MPI_COMM_WORLD).size();
  Report report(fmt::format("Leapfrog, order 8, {} core{}", ranks, ranks > 1 ? "s" : ""));
  compare<double>(report, 400, 141, 600);
  compare<float>(report, 400, 141, 600);
  compare<double>(report, 1000, 1000, 60);
  compare<float>(report, 1000, 1000, 60);
  compare<double>(report, 2000, 2000, 20);
  compare<float>(report, 2000, 2000, 20);
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
