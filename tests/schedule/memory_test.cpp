// No schedule keeps more memory than it says, as it is made and as its actions run.
#include <gtest/gtest.h>

#include <memory>

#include "adjoint/schedule/schedule.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

/// Bytes that making a schedule and running through its actions in several streams at once takes at most; -1: it
/// refuses the request.
std::int64_t bytes_taken(const ScheduleKind& kind, const ScheduleRequest& request, std::size_t streams) {
  const auto account = std::make_shared<MemoryAccount>();
  const CountMemory counted(account);
  try {
    const Schedule schedule = kind.make(request);
    std::vector<ActionStream> all;
    for (std::size_t i = 0; i < streams; ++i) all.push_back(schedule.actions());
    const std::int64_t n = request.steps == unknown_steps ? request.at_most : request.steps;
    for (bool is_done = false; !is_done;)
      for (ActionStream& stream : all) {
        const Action* const action = stream.next();
        is_done = action == nullptr;
        if (is_done) break;
        const auto* const advance = std::get_if<Advance>(action);
        const auto* const record = std::get_if<Record>(action);
        const bool is_at_end = (advance != nullptr && advance->to == n) || (record != nullptr && record->step + 1 == n);
        if (kind.is_online && is_at_end) stream.finish_at(n);
      }
  } catch (const InputError&) {
    return -1;
  }
  return account->peak();
}

TEST(ScheduleMemory, IsWhatTheFamilySaysAtMost) {
  std::int64_t runs = 0, tight = 0;
  for (const ScheduleKind& kind : schedules().all())
    for (const std::int64_t n : {1, 2, 7, 60, 311})
      for (const std::int64_t host : {0, 1, 3, 40, 400})
        for (const std::int64_t disk : {0, 2, 25})
          for (const std::int64_t device : {0, 4}) {
            ScheduleRequest request;
            request.steps = n;
            request.at_most = n;
            request.capacities.slots = {kind.takes_any_tiers ? device : 0, host, disk};
            request.record_units = kind.name == "cams" ? 4 : 1;
            request.period = 9;
            request.costs.write = {0, 0.1, 3};
            request.costs.read = {0, 0.1, 3};
            for (const std::size_t streams : {1, 2}) {
              const std::int64_t taken = bytes_taken(kind, request, streams);
              if (taken < 0) continue;
              ScheduleMemory said;
              if (kind.memory != nullptr) said = kind.memory(request);
              const std::int64_t all = said.shared + static_cast<std::int64_t>(streams) * said.stream + said.making;
              EXPECT_LE(taken, all) << kind.name << " n=" << n << " host=" << host << " disk=" << disk
                                    << " device=" << device << " streams=" << streams;
              ++runs;
              tight += 2 * taken >= all ? 1 : 0;
            }
          }
  EXPECT_GT(runs, 1000);
  EXPECT_GT(tight, runs / 2);
}

/// Their tables grow with steps times slots; where the slots are what grows, entries are small.
TEST(ScheduleMemory, OfRevolveIsAFewNumbersPerSlot) {
  ScheduleRequest request;
  request.steps = 1'000'000;
  request.capacities[Tier::host] = 1000;
  EXPECT_LE(schedules().find("revolve").memory(request).stream, 24 * 1001);
}

/// A dynamic program that is too large gives way to counting by levels, which finds nearly the same.
TEST(ScheduleMemory, OfHrevolveKeepsToWhatIsGiven) {
  ScheduleRequest request;
  request.steps = 300;
  request.capacities.slots = {3, 20, 40};
  request.costs.write = {0, 1, 5};
  request.costs.read = {0, 1, 5};
  const ScheduleKind& kind = schedules().find("hrevolve");
  const double with_tables = total_cost(kind.make(request).predicted, request.costs);
  request.table_bytes = 10'000;
  EXPECT_LE(bytes_taken(kind, request, 1), 10'000);
  EXPECT_LE(total_cost(kind.make(request).predicted, request.costs), 1.01 * with_tables);
}

}  // namespace
}  // namespace hindsight
