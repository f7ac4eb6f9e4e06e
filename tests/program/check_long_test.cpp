// Every shipped case at twenty points near and far from minima: no right gradient is called wrong, and of gradients
// broken by 1e-6 none is called right where round-off lies below 1e-7 of the derivative.
// label: long
#include <fmt/format.h>

#include <map>

#include "tests/program/checked_points.hpp"

namespace hindsight {
namespace {

class EveryCaseEverywhere : public ::testing::TestWithParam<test::SmallCase> {};

/// Ten points far away, ten near a minimum.
std::vector<CheckedPoint> twenty_points(Session& session) {
  test::Points points(session, 14);
  std::vector<CheckedPoint> all;
  const auto add = [&](UnknownValues values) {
    auto point = test::evaluated(session, std::move(values));
    if (point) all.push_back(std::move(*point));
    return point.has_value();
  };
  while (all.size() < 10) add(points.far());
  for (double distance : {0.0, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2})
    while (!add(points.near_minimum(distance))) distance /= 2;
  return all;
}

/// Rows of checks of broken gradients, by what became of them.
struct Tally {
  int called_wrong = 0, hidden = 0, unreached = 0;
};

/// Where the break changes the derivative by half of 1e-6 or more.
void count(const DirectionCheck& right, const DirectionCheck& broken, Tally& tally) {
  const double effect =
      std::fabs(broken.slope - right.slope) / std::max(std::fabs(right.slope), std::fabs(right.tangent));
  if (!(effect >= 5e-7)) {
    ++tally.unreached;
  } else if (broken.verdict() == Verdict::wrong) {
    ++tally.called_wrong;
  } else {
    ++tally.hidden;
    EXPECT_EQ(broken.verdict(), Verdict::hidden);
    EXPECT_GE(broken.with_tangent.allowed, 1e-7);
  }
}

TEST_P(EveryCaseEverywhere, RightGradientsAreRightAndBrokenOnesWrong) {
  Session session(GetParam().read(), test::self(), Sensitivities::adjoint_and_tangent);
  session.gradient({});
  session.simulation().fix_end();
  std::vector<std::string> parts = BrokenAdjoint::parts();
  for (const Unknown& unknown : session.simulation().spec().unknowns) parts.push_back(unknown.label());
  std::map<std::string, int> verdicts;
  std::map<std::string, Tally> breaks;
  const std::vector<CheckedPoint> points = twenty_points(session);
  ASSERT_EQ(points.size(), 20U);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::vector<CheckedUnknown> right = check_gradient(session, points[i]);
    for (const CheckedUnknown& row : right) {
      const bool is_nearby = row.check.with_tangent.away != 0.0 || row.check.with_differences.away != 0.0;
      ++verdicts[test::name(row.check.verdict()) + std::string(is_nearby ? " nearby" : "")];
      EXPECT_NE(row.check.verdict(), Verdict::wrong) << "point " << i << " " << row.label;
    }
    for (const std::string& part : parts) {
      SCOPED_TRACE(fmt::format("point {}, {} broken", i, part));
      session.simulation().break_gradient(part, i % 2 == 0 ? 1e-6 : -1e-6);
      const std::vector<CheckedUnknown> rows = check_gradient(session, *test::evaluated(session, points[i].values));
      session.simulation().break_gradient("all", 0.0);
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (rows[r].check.tangent == right[r].check.tangent) count(right[r].check, rows[r].check, breaks[part]);
    }
  }
  for (const auto& [what, rows] : verdicts) fmt::print("{}: {} rows {}\n", GetParam().name, rows, what);
  for (const auto& [part, rows] : breaks)
    fmt::print("{}: {:<12} broken: {} rows called wrong, {} cannot be told, {} not reached by the break\n",
               GetParam().name, part, rows.called_wrong, rows.hidden, rows.unreached);
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryCaseEverywhere, ::testing::ValuesIn(test::small_cases()), test::name_of_case);

}  // namespace
}  // namespace hindsight
