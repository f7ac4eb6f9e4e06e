// Who has cores to spare: bound ranks, ranks that share, ranks alone.
#include "runtime/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace hindsight {
namespace {

TEST(Cores, AreSharedByTheRanksThatMayRunThere) {
  EXPECT_EQ(spare_cores_of(0, {{0}, {1}}), 0.0);                    // bound, one core each
  EXPECT_EQ(spare_cores_of(0, {{0, 1}, {0, 1}}), 0.0);              // not bound, as many as cores
  EXPECT_EQ(spare_cores_of(1, {{0, 1}, {0, 1}, {0, 1}}), 0.0);      // more than cores
  EXPECT_EQ(spare_cores_of(0, {{0, 1, 2, 3}, {0, 1, 2, 3}}), 1.0);  // not bound, twice as many cores
  EXPECT_EQ(spare_cores_of(0, {{0, 1, 2}, {0, 1, 2}}), 0.5);
  EXPECT_EQ(spare_cores_of(1, {{0, 1}, {2, 3, 4}}), 2.0);  // bound to parts
  EXPECT_EQ(spare_cores_of(0, {{0, 1}, {1, 2}, {7}}), 0.5);
  EXPECT_EQ(spare_cores_of(0, {{0, 1, 2, 3}}), 3.0);
}

TEST(Cores, AreThoseThatThisProcessMayRunOn) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(spare_cores(Communicator(MPI_COMM_SELF)), static_cast<double>(CPU_COUNT(&set) - 1));
}

}  // namespace
}  // namespace hindsight
