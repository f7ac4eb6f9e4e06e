// Lossy codecs keep the error of the gradient that a case accepts, and use it.
#include <unistd.h>

#include <cmath>

#include "bench/lossy_cases.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// The largest relative difference over the unknowns.
double difference(Session& session, const UnknownValues& a, const UnknownValues& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    UnknownValues d(a.size()), r(a.size());
    r[i] = b[i];
    d[i] = a[i];
    for (std::size_t k = 0; k < a[i].size(); ++k) d[i][k] -= b[i][k];
    largest = std::max(largest, std::sqrt(session.dot(d, d) / session.dot(r, r)));
  }
  return largest;
}

struct Outcome {
  double error = 0.0, ratio = 0.0;
};

Outcome with_codec(const bench::LossyProblem& problem, const std::string& codec, const UnknownValues& exact) {
  PlanOptions options;
  options.disk.scratch = "/tmp/hindsight-lossy-" + std::to_string(getpid());
  Session session(bench::lossy_case(problem, 96,
                                    {"checkpoints={host: 7 slots, schedule: stride, period: 8, disk: {size: 60 MiB, " +
                                     codec + "}}"}),
                  test::self(), true, false, true, options);
  const Evaluation e = session.gradient({});
  const SlotTier& disk = *session.tiers()[Tier::disk];
  const auto stored = static_cast<double>(disk.traffic().bytes_written);
  return {difference(session, e.gradient, exact),
          static_cast<double>(disk.traffic().writes * disk.state_bytes()) / stored};
}

/// With an accepted error of 1e-5. Quantised states are the same with and without differences; zfp's are others.
void expect_difference_as_good(const bench::LossyProblem& problem, const std::string& codec, const Outcome& without,
                               const UnknownValues& exact) {
  const Outcome with = with_codec(problem, "codec: " + codec + ", accept: 1e-5, difference: neighbour", exact);
  fmt::print("  {:<36} {:<10} with differences:   error {:.2e}, ratio {:.1f}\n", problem.name, codec, with.error,
             with.ratio);
  EXPECT_LE(with.error, 1e-5);
  EXPECT_GE(with.error, 1e-6);
  if (codec != "quantised") return;
  EXPECT_EQ(with.error, without.error);
  EXPECT_GE(with.ratio, 0.99 * without.ratio);
}

TEST(Lossy, TheGradientsErrorIsTheOneAcceptedOrUpToTenTimesLess) {
  for (const bench::LossyProblem& problem : bench::lossy_problems()) {
    Session everything(bench::lossy_case(problem, 96, {"checkpoints.host=1 GiB"}), test::self(), true, false, true);
    const UnknownValues exact = everything.gradient({}).gradient;
    EXPECT_EQ(with_codec(problem, "codec: zstd", exact).error, 0.0) << problem.name;
    EXPECT_EQ(with_codec(problem, "codec: lz4", exact).error, 0.0) << problem.name;
    EXPECT_EQ(with_codec(problem, "codec: zstd, difference: neighbour", exact).error, 0.0) << problem.name;
    for (const char* codec : {"zfp", "quantised"})
      for (const double accepted : {1e-3, 1e-5, 1e-7}) {
        SCOPED_TRACE(fmt::format("{}, {}, accepted {:g}", problem.name, codec, accepted));
        const Outcome outcome = with_codec(problem, fmt::format("codec: {}, accept: {:g}", codec, accepted), exact);
        fmt::print("  {:<36} {:<10} accepted {:.0e}: error {:.2e}, ratio {:.1f}\n", problem.name, codec, accepted,
                   outcome.error, outcome.ratio);
        EXPECT_LE(outcome.error, accepted);
        EXPECT_GE(outcome.error, 0.1 * accepted);
        if (accepted == 1e-5) expect_difference_as_good(problem, codec, outcome, exact);
        if (!problem.name.starts_with("smooth")) continue;
        EXPECT_GE(outcome.ratio, accepted == 1e-3 ? 10.0 : 3.0);
      }
  }
}

}  // namespace
}  // namespace hindsight
