// label: long
// Schedules with records against exhaustive searches of up to twelve steps.
#include "tests/schedule/exhaustive.hpp"

namespace hindsight {
namespace {

TEST(Exhaustive, NoScheduleWithRecordsTakesFewerStepsUpToTwelve) {
  for (int n = 9; n <= 12; ++n)
    for (const int record_units : {1, 2, 4})
      for (const bool gives_state : {false, true}) test::expect_fewest_with_records(n, 4, record_units, gives_state);
}

}  // namespace
}  // namespace hindsight
