// ranks: 1 3 4
// The text of CUDA kernels, run block by block and thread by thread on the host, gives the bits of the host's kernels:
// forward, tangent and adjoint, in every dimension, with odd sizes and all kinds of boundaries.
#include <fmt/format.h>

#include "runtime/emulated/emulated_device.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

std::string text(const std::string& grid, const std::string& equations, const std::string& more = "") {
  return "case: emulated\ngrid: {" + grid + "}\nparameters: {a: 0.3, b: 0.2}\n" + equations +
         "time: {step: 1e-3, to: 5e-3}\nobjective: [{final: \"u^2\"}, {integral: \"u^3\"}]\n" +
         "checkpoints: {host: 4 slots}\n" + more;
}

const char* const one_field = R"yaml(
state: {u: {initial: "a + 0.1*cos(2*pi*x)"}}
equations: {dt(u): "b*lap(u) + a*u*(1 - u)"}
unknowns: {a: {}, b: {}, initial(u): {}}
)yaml";

const char* const two_fields = R"yaml(
state: {u: {initial: "a + 0.1*cos(2*pi*x)*sin(y)"}, v: {initial: "b*x"}}
equations: {dt(u): "b*lap(u) - u*v^2 + a*(1 - u)", dt(v): "a*lap(v) + u*v^2 - upwind(b, v, y)"}
unknowns: {a: {}, b: {}, initial(u): {}}
)yaml";

const emulated::Traits forwards{.order = emulated::Order::forwards}, backwards{.order = emulated::Order::backwards},
    open_to_mpi{.is_open_to_mpi = true};

/// Whatever the order of blocks and threads, and the way of ghosts to other ranks.
void expect_the_same(const Case& c, const std::vector<emulated::Traits>& devices = {forwards, backwards, open_to_mpi}) {
  Session host(c, test::world(), Sensitivities::adjoint_and_tangent);
  const Evaluation a = host.gradient({});
  const UnknownValues direction = test::some_direction(host, 0.3);
  const auto tangent = host.simulation().tangent(direction);
  for (const emulated::Traits& traits : devices) {
    SessionOptions emulated;
    emulated.machine = emulated::open_machine(traits);
    Session device(c, test::world(), Sensitivities::adjoint_and_tangent, emulated);
    const Evaluation b = device.gradient({});
    EXPECT_EQ(a.objective, b.objective);
    EXPECT_EQ(a.gradient, b.gradient);
    EXPECT_EQ(tangent, device.simulation().tangent(direction));
  }
}

TEST(Emulation, Lines) {
  for (const char* wall : {"", ", boundary: {value: \"a\"}"})
    expect_the_same(test::text_case(text(std::string("order: 4, x: {cells: 37, to: 1") + wall + "}", one_field)));
  const char* const mixed = "x: {cells: 301, to: 30, boundary: {lower: {slope: \"b*cos(t)\"}, upper: {value: 0.1}}}";
  expect_the_same(test::text_case(text(mixed, one_field)));
}

TEST(Emulation, Planes) {
  expect_the_same(test::text_case(text("x: {cells: 37, to: 1}, y: {cells: 19, to: 1}", two_fields)));
  expect_the_same(test::text_case(text(
      "order: 4, x: {cells: 37, to: 1, boundary: {slope: \"b*y\"}}, y: {cells: 19, to: 1, boundary: {value: \"a*x\"}}",
      two_fields)));
}

TEST(Emulation, Volumes) {
  const std::string plane = "x: {cells: 23, to: 1, boundary: {value: \"a\"}}, y: {cells: 19, to: 1}, ";
  expect_the_same(test::text_case(text(plane + "z: {cells: 13, to: 1}", two_fields)));
  expect_the_same(test::text_case(text(plane + "z: {cells: 13, to: 1, boundary: {slope: \"b*y\"}}", two_fields)));
}

/// Equations without derivatives on a line: an ODE per cell, a member per thread, each with the bits of its ODE.
TEST(Emulation, Ensembles) {
  const std::string equations = R"yaml(
state: {hare: {initial: 30.0}, lynx: {initial: 4.0}}
equations: {dt(hare): "alpha*hare - 0.028*hare*lynx", dt(lynx): "0.024*hare*lynx - 0.84*lynx"}
time: {step: 0.01, to: 0.5}
objective: [{final: "hare^2"}, {integral: "lynx*hare"}]
unknowns: {alpha: {}}
)yaml";
  const std::string members = "case: members\ngrid: {x: {cells: 301, to: 301}}\nparameters: {alpha: {field: ";
  const Case ensemble = test::text_case(members + "\"0.5 + 0.001*x\"}}" + equations);
  expect_the_same(ensemble);
  SessionOptions emulated;
  emulated.machine = emulated::open_machine();
  Session session(ensemble, test::world(), Sensitivities::adjoint, emulated);
  const UnknownValues mine = session.gradient({}).gradient;
  const Grid& grid = session.simulation().grid();
  for (std::int64_t i = 0; i < grid.cells()[0]; i += 50) {
    const std::string alpha = fmt::format("{:.17g}", 0.5 + 0.001 * grid.coordinates(0)[i]);
    const Case one = test::text_case("case: one\nparameters: {alpha: " + alpha + "}" + equations);
    Session ode(one, Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
    EXPECT_EQ(mine[0][static_cast<std::size_t>(i)], ode.gradient({}).gradient[0][0]) << i;
  }
}

/// With few checkpoints, steps come again with the same buffers; with many, none does.
TEST(Emulation, StepsThatComeAgain) {
  if (test::world().size() > 1) GTEST_SKIP() << "messages come between kernels";
  for (const char* slots : {"3 slots", "100 slots"}) {
    SessionOptions options;
    options.machine = emulated::open_machine();
    const Case c =
        test::shipped_case("gray-scott", {"grid.x.cells=20", "grid.y.cells=16", "time.to=40",
                                          "checkpoints.schedule=revolve", std::string("checkpoints.device=") + slots});
    Session session(c, test::world(), Sensitivities::adjoint, options);
    const std::int64_t before = options.machine->batches_replayed();
    const Evaluation e = session.gradient({});
    const std::int64_t replayed = options.machine->batches_replayed() - before;
    const std::int64_t steps = e.counts.total() + e.counts.reversed;
    EXPECT_TRUE(slots[0] == '3' ? replayed > steps / 2 : replayed < steps / 2) << replayed << " of " << steps;
    Session host(test::shipped_case("gray-scott", {"grid.x.cells=20", "grid.y.cells=16", "time.to=40"}), test::world(),
                 Sensitivities::adjoint);
    EXPECT_EQ(e.gradient, host.gradient({}).gradient);
  }
}

/// Rows longer than a block's piece.
TEST(Emulation, StepsThatErrorsDecide) {
  expect_the_same(
      test::text_case(text("x: {cells: 13, to: 1, boundary: {value: \"a + 10*t\"}}, y: {cells: 9, to: 1}", one_field),
                      {"time.method=dopri5", "time.tolerance=1e-5", "time.to=0.02"}),
      {forwards});
}

TEST(Emulation, Events) {
  const std::string events = "events: [{at: [0.001, 0.004], set: {u: \"u + b*x\"}}]\n";
  for (const std::vector<std::string>& set :
       {std::vector<std::string>{}, {"time.method=dopri5", "time.tolerance=1e-5", "time.to=0.02"}})
    expect_the_same(test::text_case(text("x: {cells: 13, to: 1}, y: {cells: 9, to: 1}", one_field) + events, set),
                    {forwards});
}

TEST(Emulation, LongRows) {
  expect_the_same(test::text_case(text("x: {cells: 521, to: 150}, y: {cells: 67, to: 20}", two_fields)));
}

/// Data, series, random numbers, replicated equations, conditions of the end.
TEST(Emulation, ShippedCases) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"lynx-hare", {"time.step=0.05"}},
      {"school-influenza", {"time.step=0.1"}},
      {"gray-scott", {"time.to=10"}},
      {"heat-conductivity", {"grid.x.cells=16", "grid.y.cells=16", "time.step=5e-3"}},
      {"burgers", {"grid.x.cells=50", "time.step=0.002"}},
      {"advection-3d", {"grid.x.cells=12", "grid.y.cells=12", "grid.z.cells=8", "time.to=0.05"}},
      {"lorenz96", {}},
      {"stochastic-allen-cahn", {"time.to=0.2"}}};
  for (const auto& [name, set] : cases) {
    SCOPED_TRACE(name);
    expect_the_same(test::shipped_case(name, set), {forwards});
  }
}

}  // namespace
}  // namespace hindsight
