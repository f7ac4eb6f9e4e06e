// Steps whose passes follow each other in one walk over the grid (wavefront.hpp) beside the same passes one after
// another over the whole grid, in one run: forward, and Gray-Scott's gradient with everything kept and with 2 % of that
// memory. Several ranks are all on one problem, and beside the first one alone. Usage: bench.one_pass [JSON]   under
// mpirun --bind-to none
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure.hpp"
#include "io/case/case.hpp"
#include "solvers/steppers/wavefront.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

struct Problem {
  std::string name, text;
  int steps = 1;
  double cells = 1.0;  ///< of the grid
  std::string wanted;
};

std::string time_of(const std::string& method, double step, int steps) {
  return fmt::format("time: {{method: {}, step: {}, to: {:.9g}}}\n", method, step, step * steps);
}

/// Substances in all cells, few of which are numbers below 1e-308, which processors are slow with.
Problem gray_scott(int cells, int steps, const std::string& method, int order, const std::string& wanted,
                   const std::string& checkpoints = "{host: 4 GiB}") {
  const double step = 0.5 * (order > 2 ? 0.5 : 1.0) * std::min(1.0, 16384.0 / (static_cast<double>(cells) * cells));
  return {
      fmt::format("Gray-Scott {0} x {0}, {1}, order {2}", cells, method, order),
      fmt::format("case: gray-scott\n"
                  "grid: {{x: {{cells: {0}, to: 2.5}}, y: {{cells: {0}, to: 2.5}}, order: {1}}}\n"
                  "parameters: {{Du: 8e-5, Dv: 4e-5, F: 0.024, k: 0.06}}\n"
                  "state: {{u: {{initial: \"1 - 0.5*spots(x, y)\"}}, v: {{initial: \"0.01 + 0.25*spots(x, y)\"}}}}\n"
                  "functions: {{\"spots(x, y)\": \"sin(1.6*pi*x)^2*sin(1.6*pi*y)^2\"}}\n"
                  "equations:\n  dt(u): \"Du*lap(u) - u*v^2 + F*(1 - u)\"\n"
                  "  dt(v): \"Dv*lap(v) + u*v^2 - (F + k)*v\"\n{2}"
                  "objective: [{{final: \"(u - 0.5)^2\"}}]\nunknowns: {{F: {{}}, k: {{}}, initial(u): {{}}}}\n"
                  "checkpoints: {3}\n",
                  cells, order, time_of(method, step, steps), checkpoints),
      steps, static_cast<double>(cells) * cells, wanted};
}

/// One field on a plane or in a room of the same width in all directions.
Problem one_field(const std::string& name, int dimensions, int cells, const std::string& rate, double step, int steps,
                  const std::string& method = "rk4") {
  std::string axes;
  for (int axis = 0; axis < dimensions; ++axis)
    axes += fmt::format("{}{}: {{cells: {}, to: 1}}", axis > 0 ? ", " : "", "xyz"[axis], cells);
  return {fmt::format("{}, {}^{}{}", name, cells, dimensions, method == "rk4" ? "" : ", " + method),
          fmt::format("case: field\ngrid: {{{}}}\nparameters: {{a: 0.01, D: {{field: \"0.01 + 0.005*sin(2*pi*x)\"}}}}\n"
                      "state: {{u: {{initial: \"1 + 0.3*sin(2*pi*x)*cos(2*pi*y)\"}}}}\nequations: {{dt(u): \"{}\"}}\n{}"
                      "objective: [{{final: \"u^2\"}}]\nunknowns: {{a: {{}}}}\ncheckpoints: {{host: 4 GiB}}\n",
                      axes, rate, time_of(method, step, steps)),
          steps, std::pow(static_cast<double>(cells), dimensions), "at most 0.6"};
}

/// With coefficients that are unknown in every cell.
Problem variable_coefficients(int order) {
  Problem problem = one_field("variable coefficients", 2, 1024, "div(D*grad(u))", 1e-6, 40);
  const auto put = [&](const std::string& old, const std::string& text) {
    problem.text.replace(problem.text.find(old), old.size(), text);
  };
  put("}\nparameters", fmt::format(", order: {}}}\nparameters", order));
  put("unknowns: {a", "unknowns: {D");
  put("host: 4 GiB", "host: 6 slots");
  problem.name += fmt::format(", order {}", order);
  problem.wanted = "";
  return problem;
}

/// The same plane between walls.
Problem between_walls(Problem problem) {
  for (const std::string axis : {"x", "y"}) {
    const std::string cells = axis + ": {cells: ";
    problem.text.insert(problem.text.find(cells) + axis.size() + 3, "boundary: {slope: 0}, ");
  }
  problem.name += ", between walls";
  return problem;
}

/// The same plane with rows of which no cache holds what a step needs.
Problem wide(Problem problem) {
  const std::string cells = "{cells: 1024";
  problem.text.replace(problem.text.find(cells), cells.size(), "{cells: 32768");
  problem.name += ", 32 times as wide";
  problem.cells *= 32;
  return problem;
}

/// How steps are taken by what is made while it lives.
struct Way {
  explicit Way(bool is_walked) {
    if (!is_walked) Wavefront::ask(Wavefront::Never{});
  }
  ~Way() { Wavefront::ask(Wavefront::AsItPays{}); }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
};

Session session(const Problem& problem, Sensitivities wanted, bool is_walked, MPI_Comm ranks = MPI_COMM_WORLD) {
  const Way way(is_walked);
  return Session(parse_case("bench.yaml", problem.text, {}), Communicator(ranks), wanted);
}

void compare(Report& report, const std::string& what, const Problem& problem, double staged, double walked,
             const std::string& wanted) {
  const double each = 1e9 / (problem.cells * problem.steps);
  report.add(problem.name + ": " + what + ", pass by pass", staged * each, "ns/cell");
  report.add("    in one walk", walked * each, "ns/cell");
  report.add("    over pass by pass", walked / staged, "", wanted);
}

void forward(Report& report, const Problem& problem) {
  Session staged = session(problem, Sensitivities::none, false), walked = session(problem, Sensitivities::none, true);
  const std::vector<double> t = medians({[&] { staged.objective({}); }, [&] { walked.objective({}); }});
  compare(report, "a step", problem, t[0], t[1], problem.wanted);
}

void gradient(Report& report, const Problem& problem, const std::string& what) {
  Session staged = session(problem, Sensitivities::adjoint, false),
          walked = session(problem, Sensitivities::adjoint, true);
  const std::vector<double> t = medians({[&] { staged.gradient({}); }, [&] { walked.gradient({}); }}, 5);
  compare(report, what, problem, t[0], t[1], problem.wanted);
  report.add("    memory of the walk's checkpoints over the other's",
             static_cast<double>(walked.plan().checkpoint_bytes(Tier::host, walked.plan_inputs())) /
                 static_cast<double>(staged.plan().checkpoint_bytes(Tier::host, staged.plan_inputs())),
             "");
}

/// All ranks on one problem, beside the first one alone, while the others sleep, and beside all of them at once, each
/// on a problem of its own: no more than what the machine gives them then can they reach together.
void alone_and_together(Report& report, const Problem& problem) {
  const Communicator ranks(MPI_COMM_WORLD);
  Session own = session(problem, Sensitivities::none, true, MPI_COMM_SELF),
          shared = session(problem, Sensitivities::none, true);
  const auto work = [&](Session& session, bool is_taking_part) {
    return [&session, is_taking_part] {
      if (is_taking_part) session.objective({});
      wait_for_all();
    };
  };
  const std::vector<double> t = medians({work(own, ranks.rank() == 0), work(own, true), work(shared, true)}, 15);
  const double each = 1e9 / (problem.cells * problem.steps);
  report.add(problem.name + ": a step in one walk, on one rank", t[0] * each, "ns/cell");
  report.add(fmt::format("    on {} ranks", ranks.size()), t[2] * each, "ns/cell");
  report.add("    times as fast", t[0] / t[2], "", problem.wanted);
  report.add("    of what as many programs at once do", t[1] / (ranks.size() * t[2]), "");
}

}  // namespace

void measure(int argc, char** argv) {
  const int ranks = Communicator(MPI_COMM_WORLD).size();
  Report report(fmt::format("One pass over memory, {}", ranks == 1 ? "one core" : fmt::format("{} ranks", ranks)));
  if (ranks > 1) alone_and_together(report, gray_scott(2048, 40, "rk4", 2, ranks == 2 ? "at least 1.9" : ""));
  forward(report, gray_scott(2048, 40, "rk4", 2, "at most 0.4"));
  forward(report, gray_scott(256, 300, "rk4", 2, "at most 0.5"));
  forward(report, gray_scott(1024, 40, "rk4", 8, "at most 0.6"));
  forward(report, gray_scott(1024, 40, "dopri5", 2, "at most 0.6"));
  forward(report, one_field("heat", 3, 128, "a*lap(u)", 2e-4, 60));
  forward(report, wide(one_field("heat", 2, 1024, "a*lap(u)", 1e-9, 10)));
  forward(report, one_field("Burgers", 2, 1024, "a*lap(u) - u*dx(u) - u*dy(u)", 1e-5, 100));
  forward(report, one_field("upwind", 2, 1024, "-upwind(0.3, u, x) - upwind(a, u, y)", 1e-4, 100));
  forward(report, one_field("variable coefficients", 2, 1024, "div(D*grad(u))", 1e-5, 100));
  for (const char* const method : {"euler", "heun"})  // several steps in one walk
    forward(report, one_field("heat", 2, 2048, "a*lap(u)", 1e-9, 60, method));
  gradient(report, gray_scott(2048, 12, "rk4", 2, "at most 0.6", "{schedule: store-all, host: 8 GiB}"),
           "a gradient, all kept");
  gradient(report, gray_scott(2048, 50, "rk4", 2, "at most 0.5", "{host: 4 slots}"), "a gradient in 2 %");
  gradient(report, between_walls(gray_scott(1024, 50, "rk4", 2, "at most 0.6", "{host: 4 slots}")),
           "a gradient in 2 %");
  for (const int order : {2, 4}) gradient(report, variable_coefficients(order), "a gradient in 6 slots");
  gradient(report, gray_scott(256, 200, "rk4", 2, "", "{schedule: store-all, host: 4 GiB}"), "a gradient, all kept");
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
