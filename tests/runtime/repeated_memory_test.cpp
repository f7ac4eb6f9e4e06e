// Memory that lies several times in a row of addresses, counts once, and is given back.
#include "runtime/repeated_memory.hpp"

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

TEST(RepeatedMemory, ShowsTheSameEachTime) {
  const std::int64_t bytes = 3 * RepeatedMemory::page(), doubles = bytes / 8;
  RepeatedMemory made(bytes);
  const RepeatedMemory memory(std::move(made));
  double* const at = memory.data();
  for (std::int64_t i = 0; i < RepeatedMemory::times * doubles; ++i) ASSERT_EQ(at[i], 0.0);
  for (std::int64_t i = 0; i < doubles; ++i) at[doubles + i] = static_cast<double>(i + 1);
  for (std::int64_t i = 0; i < RepeatedMemory::times * doubles; ++i)
    ASSERT_EQ(at[i], static_cast<double>(i % doubles + 1));
  at[2 * doubles - 1] = -1.0;  // and what lies across two of them
  at[2 * doubles] = -2.0;
  EXPECT_EQ(at[doubles - 1], -1.0);
  EXPECT_EQ(at[0], -2.0);
}

TEST(RepeatedMemory, CountsOnce) {
  const auto account = std::make_shared<MemoryAccount>();
  const CountMemory counting(account);
  const std::int64_t bytes = 2 * RepeatedMemory::page();
  {
    const RepeatedMemory memory(bytes);
    EXPECT_EQ(account->used(), bytes);
  }
  EXPECT_EQ(account->used(), 0);
  account->set_limit(bytes - 1);
  EXPECT_THROW(RepeatedMemory{bytes}, Error);
  EXPECT_EQ(account->used(), 0);
}

TEST(RepeatedMemory, IsOfWholePages) {
  EXPECT_THROW(RepeatedMemory{RepeatedMemory::page() + 64}, Error);
  EXPECT_THROW(RepeatedMemory{0}, Error);
}

TEST(RepeatedMemory, SaysWhatIsNotThere) {
  EXPECT_THROW(RepeatedMemory{std::int64_t{1} << 60U}, ResourceError);
}

}  // namespace
}  // namespace hindsight
