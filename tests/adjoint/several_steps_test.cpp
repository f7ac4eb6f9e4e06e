// ranks: 1 2 3 4
// Steps of methods of few stages that are taken several in one walk over the grid give the bits of steps that are taken
// pass by pass, on any number of ranks, with one message to each neighbour.
#include <fmt/format.h>
#include <mpi.h>

#include <fstream>

#include "solvers/steppers/wavefront.hpp"
#include "tests/adjoint/messages_sent.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Problem {
  std::string axes = "x: {cells: 17, to: 1}, y: {cells: 90, to: 3}", method = "euler", precision = "float64";
  std::string rate = "D*lap(u) - u*v^2 + k*dx(v)", more = "", parameters = "";
  int steps = 11;

  std::string text() const {
    return fmt::format(
        "case: steps\nprecision: {}\ngrid: {{{}}}\n"
        "parameters: {{k: 0.3, D: {{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}}{}}}\n"
        "state: {{u: {{initial: \"1 + 0.3*sin(5*x + y)\"}}, v: {{initial: \"0.4*cos(3*y)\"}}}}\n"
        "equations: {{dt(u): \"{}\", dt(v): \"div(D*grad(v)) + u*v - v*dy(u)\"}}\n"
        "time: {{method: {}, step: 1e-3, to: {:.9g}}}\nobjective: [{{final: \"u^2 + v\"}}]\n"
        "unknowns: {{k: {{}}, D: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n{}",
        precision, axes, parameters, rate, method, 1e-3 * steps, more);
  }
};

constexpr const char *value = "boundary: {value: 0}", *open = "boundary: {lower: {value: 0.1}, upper: {slope: 0.2}}";

std::string plane(int x, const char* x_sides, int y, const char* y_sides) {
  return fmt::format("x: {{cells: {}, to: 1, {}}}, y: {{cells: {}, to: 3, {}}}", x, x_sides, y, y_sides);
}

std::unique_ptr<Session> session(const std::string& text, const Communicator& comm, const walks::Asked& asked,
                                 Sensitivities wanted = Sensitivities::adjoint) {
  Wavefront::ask(asked);
  auto made = std::make_unique<Session>(test::text_case(text), comm, wanted);
  Wavefront::ask(walks::AsItPays{});
  return made;
}

std::string how_steps_are_taken(const Session& here) {
  const std::string text = here.simulation().stepper().describe_memory();
  const std::size_t at = text.find("\n  steps: ");
  return at == text.npos ? "" : text.substr(at + 10, text.find('\n', at + 1) - at - 10);
}

void expect_bits(const std::string& text, const walks::Rows& asked) {
  SCOPED_TRACE(text);
  const auto expected = session(text, test::self(), walks::Never{});
  const Evaluation serial = expected->gradient({});
  const auto here = session(text, test::world(), asked);
  EXPECT_EQ(how_steps_are_taken(*here).substr(0, 2), fmt::format("{} ", asked.steps));
  test::expect_same_bits(*here, here->gradient({}), serial);
}

TEST(SeveralSteps, GiveTheBitsOfStepsPassByPass) {
  const char* const around = "boundary: periodic";
  for (const auto& [method, steps] : {std::pair{"euler", 4}, {"euler", 2}, {"heun", 2}, {"midpoint", 2}})
    for (const std::int64_t at_once : {1, 3})
      for (const std::string& axes : {plane(17, around, 90, around), plane(19, value, 90, value),
                                      plane(70, open, 61, around), plane(16, around, 77, open)}) {
        Problem problem;
        problem.method = method;
        problem.axes = axes;
        expect_bits(problem.text(), {at_once, 0, steps});
      }
  for (const char* const method : {"euler", "heun"}) {
    Problem problem;
    problem.method = method;
    const int steps = method == std::string("euler") ? 4 : 2;
    problem.precision = "float32";
    expect_bits(problem.text(), {2, 0, steps});
    problem = {.axes = plane(30, around, 140, value) + ", order: 4", .method = method};
    expect_bits(problem.text(), {2, 0, steps});
    problem = {.axes = plane(75, value, 90, around), .method = method};
    expect_bits(problem.text(), {2, 20, steps});  // in tiles
    problem = {.method = method, .rate = "-upwind(0.3 + 0.1*v, u, x) + D*dy(dy(u)) - k*u"};
    expect_bits(problem.text(), {2, 0, steps});
  }
}

/// Between jumps, and as far as nobody looks at the states.
TEST(SeveralSteps, StopWhereStatesAreNeeded) {
  Problem jumps;
  jumps.more = "events: [{at: [0, 0.003, 0.008], set: {u: \"u + k*(1 - u)\"}}]\n";
  expect_bits(jumps.text(), {2, 0, 4});
  const std::string data = fmt::format("{}several-steps-{}.csv", testing::TempDir(), test::world().size());
  if (test::world().rank() == 0)
    std::ofstream(data) << "time,x,y,value\n0.002,0.5,1,0.9\n0.003,0.3,2,1\n0.0094,0.4,2,1\n";
  MPI_Barrier(MPI_COMM_WORLD);
  for (const std::string& objective :
       {std::string("integral: \"u*v\""), std::string("final: \"u*v\"}, {integral: \"v^2\""),
        fmt::format("misfit: {{of: u, data: {}}}", data)}) {
    std::string text = Problem().text();
    text.replace(text.find("final: \"u^2 + v\""), 16, objective);
    expect_bits(text, {2, 0, 4});
  }
  std::string lengths = Problem().text();
  lengths.replace(lengths.find("step: 1e-3"), 10, "step: 1e-3, switches: [0.0032, 0.0078]");
  expect_bits(lengths, {2, 0, 4});
}

/// What differs from step to step goes step by step, as do rooms and methods of more stages.
TEST(SeveralSteps, AreNotThereEverywhere) {
  std::vector<Problem> problems(6);
  problems[0].rate = "D*lap(u) - u*v^2*sin(t)";
  problems[1].method = "ssprk3";
  problems[2].axes = plane(17, "boundary: {value: \"sin(t)\"}", 90, value);
  problems[3].axes = "x: {cells: 7, to: 1}, y: {cells: 9, to: 1}, z: {cells: 40, to: 1}";
  problems[4].rate = "D*lap(u) + 0.1*noise(1, 0)";
  problems[5].parameters = ", q: {series: {times: [0, 1], values: [1, 2]}}";
  problems[5].more = "sources: [{to: u, signal: q, at: {x: 0.36, y: 0.52}}]\n";
  for (const Problem& problem : problems) {
    SCOPED_TRACE(problem.text());
    const auto here = session(problem.text(), test::world(), walks::Rows{2, 0, 4});
    EXPECT_EQ(how_steps_are_taken(*here), "");
    const auto expected = session(problem.text(), test::self(), walks::Never{});
    test::expect_same_bits(*here, here->gradient({}), expected->gradient({}));
  }
}

/// Walls with values of their own in each cell, which are unknown, too.
TEST(SeveralSteps, GoBesideWallsThatAreUnknown) {
  for (const char* const method : {"euler", "heun"}) {
    Problem problem;
    problem.method = method;
    problem.axes = plane(17, "boundary: {lower: {value: \"k*sin(3*y)\"}, upper: {slope: \"k\"}}", 90, value);
    expect_bits(problem.text(), {2, 0, method == std::string("euler") ? 4 : 2});
  }
}

/// As many as what they have in use lets stay in a cache: fewer in a smaller one.
TEST(SeveralSteps, AreAsManyAsFitACache) {
  Problem problem;
  problem.axes = "x: {cells: 17, to: 1}, y: {cells: 400, to: 4}";
  const auto expected = session(problem.text(), test::self(), walks::Never{});
  const Evaluation serial = expected->gradient({});
  std::string found;
  for (int kib = 20; kib > 0; --kib) {
    const auto here = session(problem.text(), test::world(), walks::AsItPays{kib << 10});
    const std::string how = how_steps_are_taken(*here), steps = how.substr(0, how.find(' '));
    if (const std::string digit = steps.empty() ? "1" : steps; !found.ends_with(digit)) {
      found += digit;
      test::expect_same_bits(*here, here->gradient({}), serial);
    }
  }
  EXPECT_EQ(found, "421");
  const auto in_cache = session(problem.text(), test::world(), walks::AsItPays{1 << 20});
  EXPECT_EQ(how_steps_are_taken(*in_cache), "");
}

TEST(SeveralSteps, LeaveMessagesOnFailuresAsTheyAre) {
  Problem problem;
  problem.rate = "u^2*1e3 + D*lap(u)";
  problem.steps = 50;
  const auto message = [&](const walks::Asked& asked) {
    Wavefront::ask(asked);
    const std::string text = test::failure_of(problem.text(), Sensitivities::none);
    Wavefront::ask(walks::AsItPays{});
    return text;
  };
  const std::string expected = message(walks::Never{});
  EXPECT_NE(expected.find("'u' is not finite after step"), std::string::npos) << expected;
  EXPECT_EQ(message(walks::Rows{2, 0, 4}), expected);
}

TEST(SeveralSteps, SendEachNeighbourOneMessage) {
  Problem problem;
  problem.axes = "x: {cells: 17, to: 1}, y: {cells: 200, to: 1}";
  problem.steps = 10;  // 4 + 4 + 2
  const auto here = session(problem.text(), test::world(), walks::Rows{4, 0, 4}, Sensitivities::none);
  test::messages_sent = 0;
  here->objective({});
  EXPECT_EQ(test::messages_sent, test::world().size() > 1 ? 3 * 2 : 0);
}

/// Of what a step moves, each has its share.
TEST(SeveralSteps, ShareWhatTheyMove) {
  const auto bytes = [](const walks::Asked& asked) {
    return session(Problem().text(), test::world(), asked)->simulation().stepper().traffic_of_step().value();
  };
  const auto one = bytes(walks::Never{}), four = bytes(walks::Rows{2, 0, 4});
  EXPECT_EQ(one.first, 24);  // u, v and D
  EXPECT_EQ(one.second, 16);
  EXPECT_EQ(four.first, 6);
  EXPECT_EQ(four.second, 4);
}

}  // namespace
}  // namespace hindsight
