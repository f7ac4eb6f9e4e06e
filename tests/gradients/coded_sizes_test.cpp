// What coded states are known to take: seen, foreseen, estimated from other tolerances, taken to another process.
#include "adjoint/gradients/coded_sizes.hpp"

#include <gtest/gtest.h>

namespace hindsight {
namespace {

constexpr std::int64_t state = 80000, doubles = 10000, bound = 90000;

CodecSettings zfp(double tolerance) {
  CodecSettings settings;
  settings.kind = "zfp";
  settings.tolerance = tolerance;
  return settings;
}

TEST(CodedSizes, LeaveATenthOfRoomToGrow) {
  CodedSizes sizes(state, doubles);
  EXPECT_FALSE(sizes.bytes(Tier::disk, zfp(1e-3)));
  sizes.learn(Tier::disk, zfp(1e-3), 10000, bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(1e-3)), 11000);
  EXPECT_FALSE(sizes.is_sure(Tier::disk, zfp(1e-3)));
  EXPECT_FALSE(sizes.bytes(Tier::host, zfp(1e-3)));
  EXPECT_FALSE(sizes.bytes(Tier::disk, zfp(1e-4)));
  sizes.learn(Tier::disk, zfp(1e-3), 5000, bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(1e-3)), 11000) << "larger ones were seen";
  sizes.learn(Tier::disk, zfp(1e-3), 89000, bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(1e-3)), bound);
}

TEST(CodedSizes, OfOtherTolerancesAreEstimatedBitByBit) {
  CodedSizes sizes(state, doubles);
  sizes.estimate(Tier::disk, zfp(1e-3), bound);
  EXPECT_FALSE(sizes.bytes(Tier::disk, zfp(1e-3))) << "nothing was foreseen";
  sizes.foresee(Tier::disk, zfp(0.0625), 20000, bound);
  EXPECT_TRUE(sizes.is_sure(Tier::disk, zfp(0.0625)));
  sizes.estimate(Tier::disk, zfp(0.0625 / 16), bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(0.0625 / 16)), 22000 + 4 * doubles / 8);
  sizes.estimate(Tier::disk, zfp(0.25), bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(0.25)), 22000 - doubles / 8) << "two bits, of which one is counted on";
  sizes.estimate(Tier::disk, zfp(1e-18), bound);
  EXPECT_EQ(sizes.bytes(Tier::disk, zfp(1e-18)), bound) << "56 bits more";
}

TEST(CodedSizes, GoOnInAnotherProcessOnOtherRanks) {
  CodedSizes sizes(state, doubles);
  sizes.foresee(Tier::host, zfp(0.0625), 20000, bound);
  ArchiveWriter archive(1);
  sizes.save(archive);
  CodedSizes alike(state, doubles), half(state / 2, doubles / 2);
  ArchiveReader first(archive.bytes(), 1, "test"), second(archive.bytes(), 1, "test");
  alike.restore(first);
  half.restore(second);
  EXPECT_EQ(alike.bytes(Tier::host, zfp(0.0625)), 22000);
  EXPECT_TRUE(alike.is_sure(Tier::host, zfp(0.0625)));
  EXPECT_EQ(half.bytes(Tier::host, zfp(0.0625)), 11000);
  half.estimate(Tier::host, zfp(0.0625 / 2), bound);
  EXPECT_EQ(half.bytes(Tier::host, zfp(0.0625 / 2)), 11000 + doubles / 2 / 8);
}

}  // namespace
}  // namespace hindsight
