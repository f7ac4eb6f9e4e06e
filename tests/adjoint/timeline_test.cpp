// The clock on which a schedule's steps and transfers run beside each other.
#include "adjoint/plan/timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "adjoint/plan/plan.hpp"
#include "adjoint/schedule/stride.hpp"

namespace hindsight {
namespace {

constexpr auto disk = static_cast<std::size_t>(Tier::disk);

OperationSeconds seconds_with(double transfer) {
  OperationSeconds s;
  s.forward = 1;
  s.record = s.record_last = 1;
  s.reverse = s.reverse_kept = 2;
  s.write[disk] = s.read[disk] = transfer;
  return s;
}

Schedule stride(std::int64_t steps, std::int64_t period, Content content) {
  ScheduleRequest request;
  request.steps = steps;
  request.capacities = {{0, 5 * period, steps}};
  request.period = period;
  request.content = content;
  request.record_units = 5;
  return schedules().find("stride").make(request);
}

/// T = max(n f, n/k w) + max(n b + (n - n/k) f, n/k r), up to what happens at both ends.
TEST(Timeline, IsTheStrideFormula) {
  const std::int64_t n = 8192;
  for (const double transfer : {0.5, 4.0, 8.0, 32.0, 100.0, 128.0, 300.0})
    for (const std::int64_t k : {4, 8, 32, 128}) {
      const OperationSeconds s = seconds_with(transfer);
      ScheduleCosts costs;
      costs.forward = 1;
      costs.reverse = 3;
      costs.write[disk] = costs.read[disk] = transfer;
      const double formula = stride_time(n, k, k - 1, costs);
      const double time = overlapped_seconds(stride(n, k, Content::state), false, n, s, {2, 2});
      EXPECT_NEAR(time / formula, 1.0, 0.03 + 2.0 * static_cast<double>(k) / n) << transfer << " " << k;
      const double with_records = overlapped_seconds(stride(n, k, Content::record), false, n, s, {2, 2});
      EXPECT_NEAR(with_records / stride_time(n, k, 0, costs), 1.0, 0.03 + 2.0 * static_cast<double>(k) / n);
    }
}

/// Where no core is free for the transfers, they take their processor time from the steps; k is chosen with that.
TEST(Timeline, TransfersDelayTheStepsBesideThem) {
  const std::int64_t n = 8192, k = 8;
  for (const double delay : {0.5, 3.0, 7.0}) {
    OperationSeconds s = seconds_with(8.0);
    s.write_delay[disk] = delay;
    s.read_delay[disk] = delay / 2;
    ScheduleCosts costs;
    costs.forward = 1;
    costs.reverse = 3;
    costs.write = s.write;
    costs.read = s.read;
    costs.write_delay = s.write_delay;
    costs.read_delay = s.read_delay;
    const double formula = stride_time(n, k, 0, costs);
    EXPECT_NEAR(formula, n * (1 + delay / k) + n * (3 + delay / 2 / k), 1e-6);
    EXPECT_NEAR(overlapped_seconds(stride(n, k, Content::record), false, n, s, {2, 2}) / formula, 1.0, 0.03);
    EXPECT_NEAR(overlapped_seconds(stride(n, k, Content::record), false, n, s, {0, 0}),
                predicted_seconds(stride(n, k, Content::record), s), 1e-6);
  }
}

TEST(Timeline, WithoutQueueAndPrefetchTransfersStopTheWork) {
  for (const double transfer : {0.5, 8.0, 100.0}) {
    const Schedule schedule = stride(1000, 10, Content::state);
    const OperationSeconds s = seconds_with(transfer);
    EXPECT_NEAR(overlapped_seconds(schedule, false, 1000, s, {0, 0}), predicted_seconds(schedule, s), 1e-6);
  }
}

TEST(Timeline, DeeperQueuesNeverTakeLonger) {
  for (const double transfer : {2.0, 9.0, 40.0}) {
    const Schedule schedule = stride(2000, 8, Content::state);
    double before = overlapped_seconds(schedule, false, 2000, seconds_with(transfer), {0, 0});
    for (const int depth : {1, 2, 4, 16}) {
      const double now = overlapped_seconds(schedule, false, 2000, seconds_with(transfer), {depth, depth});
      EXPECT_LE(now, before * (1 + 1e-9)) << transfer << " " << depth;
      before = now;
    }
  }
}

/// The best stride is about w/f.
TEST(Timeline, ThePlannersStrideIsAboutTheRatioOfCosts) {
  for (const double transfer : {8.0, 32.0, 128.0}) {
    ScheduleRequest request;
    request.steps = 8192;
    request.capacities = {{0, 2000, 8192}};
    request.costs.reverse = 3;
    request.costs.write[disk] = request.costs.read[disk] = transfer;
    const Schedule best = schedules().find("stride").make(request);
    const double period = 8192.0 / static_cast<double>(best.predicted.writes[disk]);
    EXPECT_GE(period, 0.9 * transfer);
    EXPECT_LE(period, 1.3 * transfer);
  }
}

}  // namespace
}  // namespace hindsight
