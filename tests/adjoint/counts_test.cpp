// Steps executed by real gradients equal the proven optimum; memory stays within the budget and does not grow.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "tests/places.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// n Euler steps of length 1 of du/dt = -k u with k = 1/2: u(n) = (1 - k)^n.
Session small_ode(std::int64_t steps, const std::string& schedule, const std::string& host) {
  return Session(test::text_case("case: small\nparameters: {k: 0.5}\nstate: {u: {initial: 1}}\n"
                                 "equations: {dt(u): \"-k*u\"}\ntime: {method: euler, step: 1, to: 1}\n"
                                 "objective: [{final: u}]\nunknowns: {k: {}}\n",
                                 {"time.to=" + std::to_string(steps), "checkpoints.schedule=" + schedule,
                                  "checkpoints.host=" + host}),
                 test::self(), Sensitivities::adjoint);
}

TEST(Counts, RevolveEqualsTheTable) {
  std::ifstream table(std::string(test::source_folder()) + "/tests/data/revolve.csv");
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    long long n = 0, s = 0, plain = 0;
    if (std::sscanf(line.c_str(), "%lld,%lld,%lld", &n, &s, &plain) != 3 || plain > 5000000) continue;
    Session session = small_ode(n, "revolve", std::to_string(s) + " slots");
    const Evaluation e = session.gradient({});
    EXPECT_EQ(e.counts.plain, plain) << n << " steps, " << s << " slots";
    EXPECT_EQ(e.counts.recorded, n);
    EXPECT_EQ(e.counts.reversed, n);
    EXPECT_LE(e.counts.peak[static_cast<std::size_t>(Tier::host)], s);
    ++rows;
  }
  EXPECT_GT(rows, 30);
}

#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_SANITIZER() GTEST_SKIP() << "the address sanitizer keeps freed memory, so resident sizes grow"
#else
#define SKIP_UNDER_SANITIZER() (void)0
#endif

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Counts, MemoryIsFlatWithinAGradientAndOverGradients) {
  SKIP_UNDER_SANITIZER();
  Session session(
      test::shipped_case("gray-scott", {"grid.x.cells=256", "grid.y.cells=256", "time.step=0.05", "time.to=50",
                                        "checkpoints.schedule=revolve", "checkpoints.host=20 slots"}),
      test::self(), Sensitivities::adjoint);
  EXPECT_EQ(session.simulation().time().steps(), 1000);
  session.simulation().set_values(session.simulation().values());
  std::int64_t least = INT64_MAX, most = 0;
  const auto watch = [&](std::int64_t k, double, double*) {
    if (k < 50) return;
    least = std::min(least, resident_bytes());
    most = std::max(most, resident_bytes());
  };
  session.gradient(watch);
  EXPECT_LT(most - least, 1 << 20);
  EXPECT_LE(
      session.plan_inputs().working(Tier::host) + session.plan().checkpoint_bytes(Tier::host, session.plan_inputs()),
      session.budget(Tier::host));
  // What leaks does so each time. Once, the kernel may make large pages of small ones, and untouched memory counts.
  std::array<std::int64_t, 3> growth{};
  for (std::int64_t& each : growth) {
    const std::int64_t before = resident_bytes();
    session.simulation().set_values(session.simulation().values());
    session.gradient({});
    each = resident_bytes() - before;
  }
  std::ranges::sort(growth);
  EXPECT_LT(growth[1], 1 << 20);
}

TEST(Counts, RepeatedGradientsDoNotGrow) {
  SKIP_UNDER_SANITIZER();
  Session session(test::shipped_case("gray-scott", {"grid.x.cells=64", "grid.y.cells=64", "time.to=5",
                                                    "checkpoints.schedule=revolve", "checkpoints.host=3 slots"}),
                  test::self(), Sensitivities::adjoint);
  session.gradient({});
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < 100; ++i) session.gradient({});
  EXPECT_LT(resident_bytes() - before, 1 << 20);
}

TEST(Counts, BudgetBelowTwoStatesIsRefused) {
  try {
    Session session(test::shipped_case("gray-scott", {"checkpoints.host=300 KiB"}), test::self(),
                    Sensitivities::adjoint);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("too little"), std::string::npos) << error.what();
  }
}

TEST(Counts, EdgeCases) {
  for (const char* schedule : {"store-all", "none", "uniform", "revolve"})
    for (const std::int64_t n : {1, 2, 3}) {
      Session session = small_ode(n, schedule, "9 slots");
      const Evaluation e = session.gradient({});
      EXPECT_EQ(e.counts.reversed, n) << schedule;
      EXPECT_DOUBLE_EQ(e.objective, std::pow(0.5, n));
      EXPECT_DOUBLE_EQ(e.gradient[0][0], -static_cast<double>(n) * std::pow(0.5, n - 1));
    }
}

}  // namespace
}  // namespace hindsight
