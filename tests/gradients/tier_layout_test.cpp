// Pages, slots and tables of slow tiers: counts that follow from bytes.
#include "adjoint/gradients/tier_layout.hpp"

#include <gtest/gtest.h>

namespace hindsight {
namespace {

constexpr std::int64_t page = 8192;

TEST(TierLayout, ADiskKeepsTwoSlotsToSpare) {
  const TierLayout disk{Tier::disk, page, page, 0};
  EXPECT_EQ(disk.slots_in(12 * page), 10);
  EXPECT_EQ(disk.slots_in(12 * page - 1), 9);
  EXPECT_EQ(disk.slots_in(page), 0);
  EXPECT_EQ(disk.pages_for(10, 100 * page), 12) << "states that are not coded get no more than they need";
}

TEST(TierLayout, HostSlotsHaveTheirTablesBesideThem) {
  const TierLayout host{Tier::host, page, 3 * page, 0};
  const std::int64_t tables = host.slot_table_bytes() + 3 * host.page_table_bytes();
  EXPECT_GT(tables, 0);
  EXPECT_EQ(host.slot_memory(), 3 * page + tables);
  EXPECT_EQ(host.slots_in(7 * host.slot_memory()), 7);
  EXPECT_EQ(host.slots_in(7 * host.slot_memory() - 1), 6);
  EXPECT_EQ(host.pages_for(7, 7 * host.slot_memory()), 21);
  EXPECT_EQ(host.slots_in(-5), 0);
}

TEST(TierLayout, CodedStatesGetThePagesThatThereAreAndNoMoreThanTheyCanUse) {
  const TierLayout disk{Tier::disk, page, page, 4 * page};  // known to take one page, four at most
  const std::int64_t spare = 2;
  EXPECT_EQ(disk.pages_for(10, 20 * page), 20);
  EXPECT_EQ(disk.pages_for(10, 5 * page), 10 + spare) << "what is planned at least";
  EXPECT_EQ(disk.pages_for(10, 1000 * page), 40 + spare);
  EXPECT_TRUE(disk.may_be_short(10, 39 * page));
  EXPECT_FALSE(disk.may_be_short(10, 40 * page));
  EXPECT_FALSE((TierLayout{Tier::disk, page, page, 0}).may_be_short(10, 0)) << "nothing is coded";
}

TEST(TierLayout, BytesWhoseTablesTakeSoMuchAreTheInverseOfTables) {
  const TierLayout disk{Tier::disk, page, 2 * page, 0};
  const std::int64_t each = disk.slot_table_bytes() + 2 * disk.page_table_bytes();
  EXPECT_EQ(disk.bytes_of_table(100 * each), 100 * 2 * page);
  EXPECT_EQ(disk.bytes_of_table(100 * each - 1), 99 * 2 * page);
  EXPECT_EQ(disk.table_bytes(100, 0), 100 * each + 2 * 2 * disk.page_table_bytes()) << "with two slots to spare";
}

}  // namespace
}  // namespace hindsight
