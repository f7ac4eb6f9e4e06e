// Lossy codecs keep the error of the gradient that a case accepts, and use it.

#include "bench/lossy_cases.hpp"
#include "tests/support.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

struct Outcome {
  double error = 0.0, ratio = 0.0;
};

Outcome with_codec(const bench::LossyProblem& problem, const std::string& codec, const UnknownValues& exact) {
  SessionOptions options;
  options.disk.scratch = testing::TempDir() + "lossy";
  Session session(bench::lossy_case(problem, 96,
                                    {"checkpoints={host: 7 slots, schedule: stride, period: 8, disk: {size: 60 MiB, " +
                                     codec + "}}"}),
                  test::self(), Sensitivities::adjoint, options);
  const Evaluation e = session.gradient({});
  const SlotTier& disk = *session.tiers()[Tier::disk];
  const auto stored = static_cast<double>(disk.traffic().bytes_written);
  return {session.relative_difference(e.gradient, exact),
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
    Session everything(bench::lossy_case(problem, 96, {"checkpoints.host=1 GiB"}), test::self(),
                       Sensitivities::adjoint);
    const UnknownValues exact = everything.gradient({}).gradient;
    EXPECT_EQ(with_codec(problem, "codec: zstd", exact).error, 0.0) << problem.name;
    EXPECT_EQ(with_codec(problem, "codec: lz4", exact).error, 0.0) << problem.name;
    EXPECT_EQ(with_codec(problem, "codec: zstd, difference: neighbour", exact).error, 0.0) << problem.name;
    for (const char* codec : {"zfp", "quantised"})
      for (const double accepted : {1e-3, 1e-5, 1e-7}) {
        if (accepted == 1e-7 && !problem.name.starts_with("smooth") && !test::is_whole()) continue;
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

SessionOptions options() {
  SessionOptions all;
  all.disk.scratch = testing::TempDir() + "lossy";
  return all;
}

/// Both tiers lossy, one with a tolerance of its own; 200 steps of waves.
Session two_tiers(const std::string& host, const std::string& disk) {
  return Session(bench::lossy_case(bench::lossy_problems()[0], 64,
                                   {"checkpoints={schedule: stride, period: 8, host: {size: 7 MiB, " + host +
                                    "}, disk: {size: 3 MiB, " + disk + "}}"}),
                 test::self(), Sensitivities::adjoint, options());
}

TEST(Lossy, AnAcceptedErrorHoldsForAllTiersTogether) {
  Session everything(bench::lossy_case(bench::lossy_problems()[0], 64, {"checkpoints.host=1 GiB"}), test::self(),
                     Sensitivities::adjoint);
  const UnknownValues exact = everything.gradient({}).gradient;
  const std::pair<const char*, const char*> codings[] = {
      {"codec: quantised, tolerance: 1e-6", "codec: zfp, accept: 1e-4"},
      {"codec: quantised, accept: 1e-4", "codec: float32"},
      {"codec: zfp, accept: 1e-5", "codec: quantised, accept: 1e-4"}};
  for (const auto& [host, disk] : codings) {
    SCOPED_TRACE(std::string(host) + "; " + disk);
    Session session = two_tiers(host, disk);
    const double error = session.relative_difference(session.gradient({}).gradient, exact);
    const LossyError& told = session.gradients().lossy_error().value();
    EXPECT_NE(session.tiers()[Tier::host], nullptr);
    EXPECT_NE(session.tiers()[Tier::disk], nullptr);
    EXPECT_LE(error, told.accepted);
    EXPECT_GE(error, 0.1 * told.accepted);
    EXPECT_DOUBLE_EQ(error, told.measured);
  }
}

TEST(Lossy, AToleranceThatAloneExceedsTheAcceptedErrorIsRefused) {
  Session session = two_tiers("codec: quantised, tolerance: 0.02", "codec: zfp, accept: 1e-7");
  try {
    session.gradient({});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("checkpoints.host alone gives the gradient an error"), std::string::npos)
        << error.what();
  }
}

/// What states take later in a run is known before the first gradient.
TEST(Lossy, CodedTiersThatAreShortOfRoomNeverBeginAgain) {
  for (const bench::LossyProblem& problem : bench::lossy_problems())
    for (const char* tiers :
         {"host: {size: 7 MiB, codec: quantised, tolerance: 1e-4}", "host: {size: 6 MiB, codec: zfp, tolerance: 1e-3}",
          "host: {size: 7 MiB, codec: quantised, accept: 1e-4}", "host: {size: 7 MiB, codec: zstd}",
          "host: 3 slots, disk: {size: 1 MiB, codec: quantised, tolerance: 1e-3}",
          "host: 3 slots, disk: {size: 1 MiB, codec: zfp, accept: 1e-3}",
          "host: 3 slots, disk: {size: 2 MiB, codec: lz4}"}) {
      SCOPED_TRACE(problem.name + ", " + tiers);
      Session session(bench::lossy_case(problem, 64, {std::string("checkpoints={") + tiers + "}"}), test::self(),
                      Sensitivities::adjoint, options());
      session.gradient({});
      session.gradient({});
      for (const std::string& warning : session.warnings()) ADD_FAILURE() << warning;
    }
}

}  // namespace
}  // namespace hindsight
