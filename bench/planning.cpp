// How long plans take to make, how fast actions stream, how much memory the planner needs.
// Usage: bench.planning [JSON]
#include <malloc.h>

#include "adjoint/schedule/levels.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "bench/measure.hpp"

namespace hindsight::bench {
namespace {

Levels::Problem two_tiers(std::int64_t n, std::int64_t fast, std::int64_t slow, double transfer) {
  return {n, Tier::host, fast, {{Tier::disk, slow, transfer, transfer}}, 1};
}
Levels::Problem three_tiers(std::int64_t n, std::int64_t fast, std::int64_t middle, std::int64_t slow,
                            double transfer) {
  return {n,
          Tier::device,
          fast,
          {{Tier::host, middle, 0.2 * transfer, 0.2 * transfer}, {Tier::disk, slow, transfer, transfer}},
          1};
}

/// Over a grid of capacities and costs: the slowest plan, the largest gap to the proven bound.
struct Worst {
  double seconds = 0, gap = 0;
};

Worst worst_of(std::int64_t n, bool three) {
  Worst worst;
  for (const std::int64_t fast : {2, 10, 100})
    for (const std::int64_t middle : three ? std::vector<std::int64_t>{3, 30, 300} : std::vector<std::int64_t>{0})
      for (const std::int64_t slow : {5, 50, 2000})
        for (const double transfer : {0.5, 8.0, 128.0}) {
          const Levels::Problem problem =
              three ? three_tiers(n, fast, middle, slow, transfer) : two_tiers(n, fast, slow, transfer);
          double gap = 0;
          const double seconds = seconds_of([&] {
            const Levels levels = Levels::best(problem);
            if (three) gap = levels.cost() / levels.lower_bound(0.995 * levels.cost()) - 1;
          });
          worst.seconds = std::max(worst.seconds, seconds);
          worst.gap = std::max(worst.gap, gap);
        }
  return worst;
}

double actions_per_second(ActionStream stream) {
  std::int64_t count = 0;
  const double seconds = seconds_of([&] {
    while (stream.next() != nullptr) ++count;
  });
  return static_cast<double>(count) / seconds;
}

}  // namespace

void measure(int argc, char** argv) {
  constexpr std::int64_t million = 1'000'000;
  Report report("Plans");
  const Worst two = worst_of(million, false), three = worst_of(million, true);
  const Worst two_large = worst_of(10 * million, false), three_large = worst_of(10 * million, true);
  report.add("two tiers, 1e6 steps, slowest of 27", two.seconds * 1e3, "ms", "at most 50");
  report.add("three tiers with bound, 1e6 steps, slowest of 81", three.seconds * 1e3, "ms", "at most 1000");
  report.add("    largest gap to the proven bound", three.gap * 100, "%", "at most 1");
  report.add("two tiers, 1e7 steps, over 1e6", two_large.seconds / two.seconds, "", "below 10");
  report.add("three tiers, 1e7 steps, over 1e6", three_large.seconds / three.seconds, "", "below 10");
  report.add("    largest gap to the proven bound", three_large.gap * 100, "%", "at most 1");
  ScheduleRequest request{million, {{0, 20, 0}}};
  report.add("actions, revolve", actions_per_second(schedules().find("revolve").make(request).actions()) * 1e-6,
             "million/s", "at least 10");
  report.add("actions, two tiers", actions_per_second(Levels::best(two_tiers(million, 10, 50, 8)).actions()) * 1e-6,
             "million/s", "at least 10");
  report.add("actions, three tiers",
             actions_per_second(Levels::best(three_tiers(million, 5, 20, 50, 8)).actions()) * 1e-6, "million/s",
             "at least 10");
  const std::size_t before = mallinfo2().uordblks;
  const Levels levels = Levels::best(three_tiers(million, 5, 20, 50, 8));
  ActionStream stream = levels.actions();
  std::size_t peak = 0;
  for (std::int64_t i = 0; stream.next() != nullptr; ++i)
    if (i % 1000 == 0) peak = std::max(peak, mallinfo2().uordblks);
  report.add("memory of plan and stream, three tiers, 1e6 steps", static_cast<double>(peak - before) / 1024, "KiB");
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
