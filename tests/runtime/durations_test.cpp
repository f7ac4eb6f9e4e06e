// Durations as people write them.
#include "runtime/durations.hpp"

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

TEST(Durations, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_duration("90s"), 90.0);
  EXPECT_EQ(parse_duration("55min"), 3300.0);
  EXPECT_EQ(parse_duration("2h"), 7200.0);
  EXPECT_EQ(parse_duration("1h30min"), 5400.0);
  EXPECT_EQ(parse_duration("1h0.5m3s"), 3633.0);
  EXPECT_EQ(parse_duration(".25s"), 0.25);
}

TEST(Durations, ThatAreNoneAreRefused) {
  for (const char* const text : {"", "s", "-3s", "3d", "0s", "30s1h", "1h2h", "1h30", "inf", "infs", "1e999s", " 3s"})
    EXPECT_THROW(parse_duration(text), InputError) << text;
}

TEST(Durations, TheProcessAges) {
  const double before = process_seconds();
  EXPECT_GT(before, 0.0);
  EXPECT_LT(before, 3600.0);
  EXPECT_GE(process_seconds(), before);
}

}  // namespace
}  // namespace hindsight
