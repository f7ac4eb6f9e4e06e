// ranks: 1 2 3 4
// Leapfrog steps that take the place of older levels, one by one or several in one walk over the grid, give the bits of
// steps that keep all levels.
#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "solvers/steppers/wavefront.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

std::string written(const std::string& name, const std::string& text) {
  const std::string path = fmt::format("{}leapfrog-walk-{}-{}", testing::TempDir(), test::world().size(), name);
  test::world().any(false);  // nobody reads what was there before
  test::world().on_root([&] { std::ofstream(path) << text; });
  test::world().any(false);
  return path;
}

const char* const on_steps = "time,x,y,value\n0.11,0.5,0.5,0.3\n0.12,0.2,0.7,-0.2\n0.2,0.9,0.1,0.1\n";
const char* const between_steps = "time,x,y,value\n0.113,0.5,0.5,0.3\n0.125,0.2,0.7,-0.2\n0.209,0.9,0.1,0.1\n";

struct Wave {
  std::string axes = "x: {cells: 19, to: 1, boundary: {value: 0}}, y: {cells: 61, to: 3, boundary: {slope: 0}}";
  int order = 4;
  std::string equation = "c^2*lap(u) - 0.2*u^3";
  std::string objective = "{final: \"u^2\"}";
  std::string more = "";
  std::string coupled = "";  ///< to u: the right-hand side of a field v
  std::string precision = "float64";
  bool is_walked = true;  ///< on one rank
};

std::string text_of(const Wave& wave) {
  return fmt::format(
      "case: wave\nprecision: {}\ngrid: {{{}, order: {}}}\n"
      "parameters: {{a: 0.7, c: {{field: \"1 + 0.3*sin(2*x)*y\"}}, "
      "q: {{series: {{times: [0, 0.1, 0.5], values: [1, -2, 0.5]}}}}}}\n"
      "state: {{u: {{initial: \"exp(-8*((x - 0.4)^2 + (y - 0.6)^2))\", rate: \"0.3*x\"}}{}}}\n"
      "equations: {{dtt(u): \"{}\"{}}}\nobjective: [{}]\n"
      "unknowns: {{a: {{}}, c: {{}}, initial(u): {{}}, rate(u): {{}}}}\n"
      "time: {{method: leapfrog, step: 0.01, to: 0.41}}\n{}",
      wave.precision, wave.axes, wave.order, wave.coupled.empty() ? "" : ", v: {initial: \"x*y\", rate: 1}",
      wave.equation, wave.coupled.empty() ? "" : fmt::format(", dtt(v): \"{}\"", wave.coupled), wave.objective,
      wave.more);
}

std::string misfit(const std::string& name, const std::string& data) {
  return fmt::format("{{misfit: {{of: u, data: {}, noise: 0.1}}}}, {{final: \"u^2\"}}", written(name, data));
}

std::vector<Wave> waves() {
  const std::string across = "x: {cells: 19, to: 1, boundary: {value: 0}}", periodic = "boundary: periodic";
  const std::string around = "x: {cells: 17, to: 1, boundary: periodic}, y: {cells: 150, to: 7, " + periodic + "}";
  const std::string inside =
      "sources: [{to: u, signal: q, at: {x: 0.36, y: 0.52}}, {to: u, signal: q, at: {x: 0.38, y: 0.53}, factor: 2, "
      "weights: sinc}";
  const std::string sources = inside + ", {to: u, signal: q, at: {x: 0.99, y: 2.97}, factor: -1}]\n";
  const std::string damping = "c^2*lap(u) - a*x*dt(u)", layers = "absorb: {pml: 5}\n";
  std::vector<Wave> all{{}, {.equation = damping}, {.order = 8}, {.precision = "float32"}};
  for (const int order : {4, 8}) all.push_back({.order = order, .equation = "div(c^2*grad(u)) - 0.2*u^3"});
  all.push_back({.axes = around});
  all.push_back({.axes = around, .order = 2, .equation = damping, .objective = "{integral: \"u^4\"}"});
  all.push_back({.axes = across + ", y: {cells: 17, to: 1, boundary: {value: 0.1}}", .order = 8, .is_walked = false});
  for (const std::string& equation : {Wave().equation, damping}) {
    all.push_back({.equation = equation, .more = sources});
    all.push_back({.equation = equation, .objective = misfit("on.csv", on_steps), .more = sources});
    all.push_back({.equation = equation, .objective = misfit("between.csv", between_steps), .more = layers});
  }
  all.push_back({.more = inside + "]\n" + layers, .precision = "float32"});
  const std::string to_both = inside + ", {to: v, signal: q, at: {x: 0.37, y: 0.52}, weights: sinc}]\n";
  all.push_back({.equation = "c^2*lap(u) - a*v", .more = to_both, .coupled = "lap(v) + u - 0.1*dt(v)"});
  all.push_back({.axes = around, .more = sources, .is_walked = false});
  all.push_back({.equation = "c^2*lap(u) + q*x", .is_walked = false});
  all.push_back({.axes = across + ", y: {cells: 6, to: 1}, z: {cells: 40, to: 2, boundary: {slope: 0}}", .order = 2});
  return all;
}

/// @param checkpoints of the case.
Evaluation evaluated(std::optional<Session>& session, const Wave& wave, const Communicator& comm,
                     const std::string& checkpoints, Sensitivities wanted) {
  SessionOptions options;
  options.disk.scratch = testing::TempDir() + "leapfrog-walk";
  session.emplace(test::text_case(text_of(wave) + "checkpoints: {" + checkpoints + "}\n"), comm, wanted, options);
  if (wanted == Sensitivities::none) return {.objective = session->objective({}), .gradient = {}};
  return session->gradient({});
}

TEST(LeapfrogWalk, GivesTheBitsOfStepsThatKeepAllLevels) {
  int walked = 0;
  for (const Wave& wave : waves()) {
    std::optional<Session> kept, session;
    Wavefront::ask(Wavefront::Never{});
    const Evaluation expected = evaluated(kept, wave, test::self(), "schedule: store-all", Sensitivities::adjoint);
    for (const int rows : {0, 1, 3, 100}) {
      SCOPED_TRACE(fmt::format("{} rows at once, of {}", rows, text_of(wave)));
      if (rows > 0) Wavefront::ask(Wavefront::Rows{rows});
      EXPECT_EQ(evaluated(session, wave, test::world(), "host: 2 slots", Sensitivities::none).objective,
                expected.objective);
      const bool walks =
          session->simulation().stepper().describe_memory().find("steps: 4 in one walk") != std::string::npos;
      walked += walks ? 1 : 0;
      if (test::world().size() == 1) {
        EXPECT_EQ(walks, wave.is_walked && rows > 0);
      }
      for (const char* const checkpoints : {"schedule: revolve, host: 3 slots", "schedule: store-all",
                                            "schedule: hrevolve, host: 3 slots, disk: 120 slots"})
        test::expect_same_bits(*session, evaluated(session, wave, test::world(), checkpoints, Sensitivities::adjoint),
                               expected);
    }
    Wavefront::ask(Wavefront::AsItPays{});
  }
  EXPECT_GE(walked, 9);
}

}  // namespace
}  // namespace hindsight
