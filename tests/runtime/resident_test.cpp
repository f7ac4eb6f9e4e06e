// What of a process's peak counts as its own.
#include "runtime/resident.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hindsight {
namespace {

TEST(Resident, GrowsByWhatIsWritten) {
  constexpr std::int64_t bytes = std::int64_t{32} << 20U;
  const Resident start = resident();
  { const std::vector<char> written(bytes, 'x'); }
  const Resident later = resident();
  EXPECT_GE(later.most, start.now + bytes / 2);
  EXPECT_GE(most_without_files(start, later), start.now - start.files + bytes / 2);
}

TEST(Resident, PagesOfFilesThatAreTakenAwayAreNotItsOwn) {
  const Resident start{.now = 30, .most = 30, .files = 20};
  EXPECT_EQ(most_without_files(start, {.now = 33, .most = 34, .files = 21}), 13);
  EXPECT_EQ(most_without_files(start, {.now = 18, .most = 34, .files = 5}), 14);
}

}  // namespace
}  // namespace hindsight
