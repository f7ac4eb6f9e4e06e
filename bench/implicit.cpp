// Implicit steps on a grid, and their gradients, beside PETSc's TSTheta with TSAdjoint and SUNDIALS' CVODES with its
// backward problem. Usage: bench.implicit [JSON [CELLS [STEPS [ROUNDS [PROBLEM]]]]], on any number of ranks; CELLS
// along an axis, PROBLEM heat or autocatalysis, else both.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "bench/implicit_peers.hpp"
#include "bench/measure.hpp"
#include "bench/solver_clock.hpp"
#include "runtime/petsc.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

/// Of PETSc's solvers, so that its steps are solved as exactly as Hindsight's.
constexpr const char* tight = "-ksp_rtol 1e-12 -snes_rtol 1e-12 -snes_stol 1e-14 -snes_linesearch_type basic ";

/// How PETSc's program is run.
struct Setting {
  std::string name, options;
};

/// Its own solvers, as loosely as it likes and tightly; and those that Hindsight chooses for such a problem.
std::vector<Setting> settings_for(const ReactionProblem& problem, int ranks) {
  std::string ours = "-ksp_type bcgsl ";
  if (!problem.reacts())
    ours = std::string("-ksp_type cg -pc_type ") + (ranks == 1 ? "cholesky" : "redundant") +
           " -snes_lag_preconditioner -2 -snes_lag_preconditioner_persists ";
  return {{"TSTheta, its own tolerances", ""},
          {"TSTheta, tight", tight},
          {"TSTheta, tight, Hindsight's linear solver", tight + ours}};
}

class Ours {
 public:
  Ours(const ReactionProblem& problem, const std::string& method, int steps, const std::string& schedule)
      : problem_(problem) {
    const std::string time =
        fmt::format("time: {{method: {}, step: {:.17g}, to: {:.17g}}}\n", method, problem.end / steps, problem.end);
    session_ = std::make_unique<Session>(
        parse_case("bench.yaml", case_text(problem) + time + "checkpoints: {" + schedule + "}\n", {}),
        Communicator(MPI_COMM_WORLD), Sensitivities::adjoint);
  }

  /// Factors of the runs before serve no more: a run of an inversion has other parameters.
  void forget_factors() { session_->simulation().set_values(session_->simulation().values()); }
  void run() { session_->objective({}); }

  Outcome gradient() {
    Outcome found;
    Evaluation evaluation;
    const auto at_end = [&](std::int64_t k, double, double* state) {
      if (k == session_->simulation().time().steps()) found.end_state = values_of(state);
    };
    const SolverClock clock;
    found.gradient = both_seconds_of([&] { evaluation = session_->gradient(at_end); });
    found.share_outside = 1.0 - clock.seconds() / found.gradient.wall;
    found.objective = evaluation.objective;
    found.by_scalar = evaluation.gradient[0][0];
    found.by_initial = evaluation.gradient[1];
    found.steps = static_cast<long>(session_->simulation().time().steps());
    return found;
  }

  /// Of what a run forward takes, what is not spent in PETSc's solvers.
  double share_outside_forward() {
    const SolverClock clock;
    const double all = seconds_of([&] { run(); });
    return 1.0 - clock.seconds() / all;
  }

 private:
  /// Of this rank.
  std::vector<double> values_of(double* state) const {
    const Grid& grid = session_->simulation().grid();
    const auto fields = static_cast<std::size_t>(problem_.fields);
    std::vector<double> cells(static_cast<std::size_t>(grid.cells()[0] * grid.cells()[1])), all(cells.size() * fields);
    for (std::size_t f = 0; f < fields; ++f) {
      pack_cells(grid, state + grid.layout().origin + static_cast<std::int64_t>(f) * grid.layout().field_stride,
                 cells.data());
      for (std::size_t c = 0; c < cells.size(); ++c) all[c * fields + f] = cells[c];
    }
    return all;
  }

  const ReactionProblem& problem_;
  std::unique_ptr<Session> session_;
};

/// The largest difference, over the largest value, of all ranks.
double error_of(const std::vector<double>& found, const std::vector<double>& reference) {
  double largest[2] = {0.0, 0.0};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    largest[0] = std::max(largest[0], std::fabs(found[i] - reference[i]));
    largest[1] = std::max(largest[1], std::fabs(reference[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest[0] / largest[1];
}

/// Of both parts of the gradient.
double gradient_error(const Outcome& found, const Outcome& reference) {
  return std::max(std::fabs(found.by_scalar / reference.by_scalar - 1.0),
                  error_of(found.by_initial, reference.by_initial));
}

/// What is measured of one problem and one method.
class Comparison {
 public:
  Comparison(const ReactionProblem& problem, const std::string& method, int rounds, Report& report)
      : problem_(problem), method_(method), rounds_(rounds), report_(report), title_(problem.name + " " + method) {}

  void against(const Outcome& reference) {
    measure_ours(reference);
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (const Setting& setting : settings_for(problem_, ranks)) measure_theta(setting, reference);
  }

 private:
  void add(const std::string& who, const std::string& what, double value, const std::string& unit,
           const std::string& wanted = "") {
    report_.add(title_ + ", " + who + ": " + what, value, unit, wanted);
  }

  void add_seconds(const std::string& who, const std::string& what, const Seconds& seconds) {
    add(who, what, seconds.wall, "s");
    add(who, what + ", processor time", seconds.processor, "s");
  }

  /// Of a peer over Hindsight's.
  void add_ratio(const std::string& who, const std::string& what, const Seconds& theirs, const Seconds& mine,
                 const std::string& wanted) {
    add(who, what + " over Hindsight's", theirs.wall / mine.wall, "", wanted);
    add(who, what + " over Hindsight's, processor time", theirs.processor / mine.processor, "", wanted);
  }

  void measure_ours(const Outcome& reference) {
    const PeakMemory memory;
    Ours session(problem_, method_, problem_.steps, "schedule: store-all");
    std::vector<Seconds> forward, gradient, kept_forward, kept_gradient;
    std::vector<double> outside_forward, outside_gradient;
    for (int round = -1; round < rounds_; ++round) {
      session.forget_factors();
      const Seconds run = both_seconds_of([&] { session.run(); });
      session.forget_factors();
      ours_ = session.gradient();
      if (round < 0) continue;  // the first run takes memory
      forward.push_back(run);
      gradient.push_back(ours_.gradient);
      outside_gradient.push_back(ours_.share_outside);
      session.forget_factors();
      outside_forward.push_back(session.share_outside_forward());
      kept_forward.push_back(both_seconds_of([&] { session.run(); }));
      kept_gradient.push_back(session.gradient().gradient);
    }
    ours_.megabytes = memory.megabytes();
    ours_.forward = median(forward);
    ours_.gradient = median(gradient);
    const Seconds run = median(kept_forward), both = median(kept_gradient);
    const double steps = problem_.steps;
    const std::string who = "Hindsight";
    add_seconds(who, "forward run", ours_.forward);
    add_seconds(who, "gradient", ours_.gradient);
    add(who, "forward step, factors of the run before", run.wall / steps, "s");
    add(who, "reverse step over a forward step", both.wall / run.wall - 1.0, "", "at most 1.2");
    add(who, "the same, processor time", both.processor / run.processor - 1.0, "", "at most 1.2");
    add(who, "share outside PETSc's solvers, forward", median(outside_forward), "", "below 0.1");
    add(who, "share outside PETSc's solvers, gradient", median(outside_gradient), "", "below 0.1");
    add(who, "memory", ours_.megabytes, "MB");
    add(who, "error of the end state", error_of(ours_.end_state, reference.end_state), "");
    add(who, "error of the gradient", gradient_error(ours_, reference), "");
  }

  void measure_theta(const Setting& setting, const Outcome& reference) {
    Outcome theirs;
    std::vector<Seconds> forward, gradient;
    for (int round = 0; round < rounds_; ++round) {
      theirs = run_theta(problem_, method_ == "cn" ? 0.5 : 1.0, setting.options, MPI_COMM_WORLD);
      forward.push_back(theirs.forward);
      gradient.push_back(theirs.gradient);
    }
    add_seconds(setting.name, "forward run", median(forward));
    add_seconds(setting.name, "gradient", median(gradient));
    add(setting.name, "memory", theirs.megabytes, "MB");
    add(setting.name, "error of the gradient", gradient_error(theirs, reference), "");
    add(setting.name, "gradient's difference to Hindsight's", gradient_error(theirs, ours_), "");
    add_ratio(setting.name, "forward", median(forward), ours_.forward, "at least 1");
    add_ratio(setting.name, "gradient", median(gradient), ours_.gradient, "at least 1.5");
  }

  const ReactionProblem& problem_;
  std::string method_;
  int rounds_;
  Report& report_;
  std::string title_;
  Outcome ours_;
};

/// What the gradients of one program cost, by the errors of its end states.
class Costs {
 public:
  Costs(const Outcome& reference, std::string who, Report& report)
      : reference_(reference), who_(std::move(who)), report_(report) {}

  /// @returns the error.
  double add(const std::string& run, const Outcome& found) {
    const double error = error_of(found.end_state, reference_.end_state);
    const std::string who = who_ + " " + run + ": ";
    report_.add(who + "error of the end state", error, "");
    report_.add(who + "error of the gradient", gradient_error(found, reference_), "");
    report_.add(who + "steps", static_cast<double>(found.steps), "");
    report_.add(who + "gradient", found.gradient.processor, "s of processor time");
    report_.add(who + "memory", found.megabytes, "MB");
    seconds_.push_back({error, found.gradient.processor});
    megabytes_.push_back({error, found.megabytes});
    return error;
  }
  double seconds_at(double error) const { return at_least_as_exact(seconds_, error); }
  double megabytes_at(double error) const { return at_least_as_exact(megabytes_, error); }
  const std::vector<std::array<double, 2>>& seconds() const { return seconds_; }

 private:
  /// Where the longest steps have smaller errors, what they cost.
  static double at_least_as_exact(const std::vector<std::array<double, 2>>& costs, double error) {
    return costs.front()[0] <= error ? costs.front()[1] : cost_at(costs, error);
  }

  const Outcome& reference_;
  std::string who_;
  Report& report_;
  std::vector<std::array<double, 2>> seconds_, megabytes_;
};

/// At the errors of CVODES' end states, by each method of Hindsight's that reaches them.
void compare_with_cvodes(const ReactionProblem& problem, const Outcome& reference, Report& report) {
  Costs theirs(reference, problem.name + ", CVODES", report);
  for (const double tolerance : {1e-2, 1e-3, 1e-4, 1e-5})
    theirs.add(fmt::format("at {:.0e}", tolerance), run_cvodes(problem, tolerance, MPI_COMM_WORLD));
  for (const std::string method : {"cn", "rodas4"}) {
    Costs mine(reference, problem.name + ", Hindsight, " + method, report);
    for (int steps = 2; steps <= 2 * problem.steps; steps *= 2) {
      const PeakMemory memory;
      Ours session(problem, method, steps, "schedule: store-all");
      session.run();  // the first run takes memory
      session.forget_factors();
      Outcome found = session.gradient();
      found.megabytes = memory.megabytes();
      if (mine.add(fmt::format("{} steps", steps), found) < theirs.seconds().back()[0]) break;
    }
    for (const auto& [error, seconds] : theirs.seconds()) {
      if (std::isnan(mine.seconds_at(error))) continue;
      const std::string who = fmt::format("{}, CVODES at an error of {:.1e} over {}: ", problem.name, error, method);
      report.add(who + "gradient", seconds / mine.seconds_at(error), "", "at least 2");
      report.add(who + "memory", theirs.megabytes_at(error) / mine.megabytes_at(error), "", "at least 4");
    }
  }
}

/// Of short steps, by a method of order 4.
Outcome reference_of(const ReactionProblem& problem) {
  Ours session(problem, "esdirk4", 3 * problem.steps, "schedule: auto");
  return session.gradient();
}

}  // namespace

void measure(int argc, char** argv) {
  const auto option = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int cells = option(2, 512), steps = option(3, 10), rounds = option(4, 1);
  start_petsc();
  const Communicator world(MPI_COMM_WORLD);
  Report report(fmt::format("Implicit steps, {0} x {0} cells, {1} steps, {2} ranks", cells, steps, world.size()));
  for (const ReactionProblem& problem : {heat(cells, steps), autocatalysis(cells, steps)}) {
    if (argc > 5 && problem.name != argv[5]) continue;
    const Outcome reference = reference_of(problem);
    Comparison euler(problem, "beuler", rounds, report), trapezoidal(problem, "cn", rounds, report);
    euler.against(reference);
    trapezoidal.against(reference);
    compare_with_cvodes(problem, reference, report);
  }
  report.finish(argc, argv);
  finish_petsc();
}

}  // namespace hindsight::bench
