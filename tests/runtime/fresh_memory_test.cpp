// A sample of memory stays within what it may take, counts, and is given back.
#include "runtime/fresh_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace hindsight {
namespace {

TEST(FreshMemory, TakesNoMoreThanItMayAndGivesItBack) {
  for (const std::int64_t piece : {std::int64_t{8} << 10U, std::int64_t{1} << 20U, std::int64_t{4} << 20U}) {
    const auto account = std::make_shared<MemoryAccount>();
    const std::int64_t most = 3 * piece + piece / 2;
    account->set_limit(most);
    {
      const CountMemory counted(account);
      FreshMemory sample(piece);
      sample.take_up_to(piece / 2);
      EXPECT_EQ(sample.bytes(), 0);
      sample.take_up_to(most);
      EXPECT_EQ(sample.bytes(), account->used());
      EXPECT_TRUE(sample.has_met_unready() || sample.bytes() > most - piece - piece / 100);
      EXPECT_GT(sample.bytes(), 0);
      EXPECT_LE(sample.bytes(), 3 * piece);
      EXPECT_GT(sample.ready_seconds(), 0.0);
      EXPECT_LT(sample.ready_seconds(), 1e-3);
      EXPECT_EQ(sample.unready_seconds() > 0.0, sample.has_met_unready());
    }
    EXPECT_EQ(account->used(), 0);
  }
}

}  // namespace
}  // namespace hindsight
