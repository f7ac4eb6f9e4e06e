// Checks at random points: right gradients pass, broken ones do not, and every figure is the same on any number of
// ranks. check_long_test.cpp asks for more.
// ranks: 1 3
#include <gtest/gtest.h>

#include "tests/program/checked_points.hpp"

namespace hindsight {
namespace {

void expect_same(const Comparison& here, const Comparison& serial) {
  EXPECT_EQ(here.seen, serial.seen);
  EXPECT_EQ(here.allowed, serial.allowed);
  EXPECT_EQ(here.away, serial.away);
  EXPECT_EQ(here.verdict, serial.verdict);
}

std::vector<CheckedUnknown> checked(Session& session, std::uint64_t seed) {
  const auto point = test::evaluated(session, test::Points(session, seed).far());
  return point ? check_gradient(session, *point) : std::vector<CheckedUnknown>();
}

class SomeCases : public ::testing::TestWithParam<test::SmallCase> {};

TEST_P(SomeCases, GradientsAreRightUnlessBroken) {
  const Communicator world = test::world(), self = test::self();
  Session session(GetParam().read(), world, Sensitivities::adjoint_and_tangent),
      serial(GetParam().read(), self, Sensitivities::adjoint_and_tangent);
  const std::vector<CheckedUnknown> rows = checked(session, 3), alone = checked(serial, 3);
  ASSERT_EQ(rows.size(), alone.size());
  ASSERT_FALSE(rows.empty());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].label);
    EXPECT_EQ(rows[i].check.verdict(), Verdict::right);
    EXPECT_LT(rows[i].check.with_tangent.allowed, 1e-7);
    expect_same(rows[i].check.with_tangent, alone[i].check.with_tangent);
    expect_same(rows[i].check.with_differences, alone[i].check.with_differences);
  }
  for (const std::string& part : {std::string("steps"), rows.front().label}) {
    session.simulation().break_gradient(part, 1e-6);
    EXPECT_EQ(checked(session, 3).front().check.verdict(), Verdict::wrong) << part;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SomeCases,
                         ::testing::ValuesIn(test::small_cases({"lynx-hare", "burgers", "every-kind"})),
                         test::name_of_case);

}  // namespace
}  // namespace hindsight
