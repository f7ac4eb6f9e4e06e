// Real gradients against their plans: within a small budget, with stage records, with a slow tier of given delay.
// Usage: bench.checkpointing [JSON]
#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/cases.hpp"
#include "bench/measure.hpp"

namespace hindsight::bench {
namespace {

/// Median seconds of a gradient.
double gradient_seconds(Session& session, int repeats) {
  std::vector<double> seconds;
  session.gradient({});
  for (int i = 0; i < repeats; ++i) seconds.push_back(session.gradient({}).seconds);
  return median(seconds);
}

/// 5000 steps whose states are 200 times the budget.
void small_budget(Report& report) {
  Session probe(gray_scott(128, 5000, 0.5, {"checkpoints.host=1 slots", "checkpoints.schedule=auto"}),
                Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  const std::int64_t budget = probe.plan_inputs().state_bytes * 5000 / 200;
  Session session(
      gray_scott(128, 5000, 0.5, {fmt::format("checkpoints.host={} B", budget), "checkpoints.schedule=auto"}),
      Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  const Evaluation e = session.gradient({});
  const double seconds = gradient_seconds(session, 5);
  report.add("gray-scott, 5000 steps: history over budget",
             static_cast<double>(probe.plan_inputs().state_bytes) * 5000 / static_cast<double>(budget), "",
             "at least 200");
  report.add("    schedule " + session.plan().kind->name + ", steps executed minus planned",
             static_cast<double>(e.counts.total() - session.plan().schedule.predicted.total()), "", "0");
  report.add("    time over predicted", seconds / session.plan().seconds, "", "0.9 to 1.1");
}

/// States and records in the same memory against states alone.
void records(Report& report) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (const char* schedule : {"revolve", "cams"})
    sessions.push_back(std::make_unique<Session>(
        ignition(256, 60, {"checkpoints.host=228 slots", std::string("checkpoints.schedule=") + schedule}),
        Communicator(MPI_COMM_SELF), Sensitivities::adjoint));
  const std::vector<double> seconds = medians({[&] { sessions[0]->gradient({}); }, [&] { sessions[1]->gradient({}); }});
  const auto steps = [&](std::size_t i) { return static_cast<double>(sessions[i]->plan().schedule.predicted.total()); };
  report.add("ignition 256 x 256, 60 steps, 228 units, states and records mixed: fewer steps than Revolve",
             100 * (1 - steps(1) / steps(0)), "%", "at least 15");
  report.add("    less time", 100 * (1 - seconds[1] / seconds[0]), "%", "at least 15");
}

/// Families in turn, round after round.
void slow_tier(Report& report, double ratio) {
  const std::vector<std::string> budgets{"checkpoints.host=4 slots", "checkpoints.disk=2000 slots",
                                         "checkpoints.period=25"};
  Session probe(gray_scott(128, 10, 0.5, {"checkpoints.schedule=auto"}), Communicator(MPI_COMM_SELF),
                Sensitivities::adjoint);
  SessionOptions options;
  const double delay = ratio * probe.plan_inputs().seconds.forward;
  options.disk.emulated = {delay, delay};
  std::vector<std::unique_ptr<Session>> sessions;
  for (const char* name : {"auto", "revolve", "diskrevolve-once", "periodic", "twolevel", "multistage"}) {
    std::vector<std::string> set = budgets;
    set.push_back(std::string("checkpoints.schedule=") + name);
    if (std::string(name) == "multistage") set[1] = "checkpoints.disk=30 slots";
    sessions.push_back(std::make_unique<Session>(gray_scott(128, 600, 0.5, set), Communicator(MPI_COMM_SELF),
                                                 Sensitivities::adjoint, options));
  }
  // Costs are measured between the gradients of every round, so that the machine's moods hit both alike.
  std::vector<std::vector<double>> seconds(sessions.size());
  std::vector<StepSeconds> steps;
  for (int round = 0; round < 9; ++round)
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      steps.push_back(probe.simulation().measure(1, 2e-3, 30));
      seconds[i].push_back(sessions[i]->gradient({}).seconds);
    }
  const auto cost = [&](double StepSeconds::*member) {
    std::vector<double> values;
    for (const StepSeconds& one : steps) values.push_back(one.*member);
    return median(values);
  };
  OperationSeconds costs = sessions.front()->plan_inputs().seconds;
  costs.forward = cost(&StepSeconds::forward);
  costs.record = cost(&StepSeconds::record);
  costs.reverse_kept = cost(&StepSeconds::reverse_kept);
  costs.record_last = cost(&StepSeconds::record_last);
  costs.reverse = cost(&StepSeconds::reverse);
  fmt::print("w/f = {:g}\n", ratio);
  double worst = 1, best = 1e300;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const double predicted = predicted_seconds(sessions[i]->plan().schedule, costs), measured = median(seconds[i]);
    fmt::print("    {:<28} predicted {:>9.4f} s, measured {:>9.4f} s\n",
               (i == 0 ? "chosen: " : "") + sessions[i]->plan().kind->name, predicted, measured);
    worst = std::max({worst, measured / predicted, predicted / measured});
    if (i > 0) best = std::min(best, measured);
  }
  report.add(fmt::format("slow tier, w/f = {:g}: time over the cost model or its inverse, worst of 6 families", ratio),
             worst, "", "at most 1.05");
  report.add("    chosen over the best of the others", median(seconds[0]) / best, "", "at most 1");
}

}  // namespace

void measure(int argc, char** argv) {
  Report report("Checkpointing, gray-scott 128 x 128, RK4, one core");
  small_budget(report);
  records(report);
  for (const double ratio : {2.0, 8.0, 32.0, 128.0}) slow_tier(report, ratio);
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
