// The account holds all that a gradient takes, and the plan says how much that is.
// ranks: 1 2 3
#include <fmt/format.h>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Walls that unknowns and series drive, sums over them, misfits in numbers, integrals.
constexpr const char* plate = R"yaml(
case: plate
grid:
  x: {cells: 24, to: 1, boundary: {lower: {value: "hot"}, upper: {slope: "q"}}}
  y: {cells: 18, to: 1, boundary: {value: "cold*(1 + x)"}}
parameters:
  hot: 2
  cold: 1
  q: {series: {times: [0, 0.01, 0.03, 0.05], values: [0.1, 0.2, 0.4, 0.3]}}
  k: {field: "1 + 0.2*sin(2*pi*x)"}
state: {T: {initial: 1}}
equations: {dt(T): "div(k*grad(T))"}
time: {method: rk4, step: 1e-4, to: 0.05}
objective:
  - integral: "T^2"
  - final: "grad2(T)"
unknowns: {hot: {}, cold: {}, q: {}, k: {}, initial(T): {}}
)yaml";

PlanOptions options() {
  PlanOptions all;
  all.disk.scratch = testing::TempDir() + "account";
  return all;
}

/// The peak of a gradient is what was planned, but for the places where large blocks may begin, and for a byte per slot
/// that only slots that are lost need.
void expect_planned(const Case& c) {
  SCOPED_TRACE(c.name);
  Session session(c, test::world(), true, false, true, options());
  session.gradient({});
  const std::int64_t planned =
      session.plan_inputs().working(Tier::host) + session.plan().checkpoint_bytes(Tier::host, session.plan_inputs());
  const std::int64_t peak = session.simulation().memory()->peak();
  EXPECT_LE(peak, planned);
  const std::int64_t slots = session.plan().schedule.predicted.peak[static_cast<std::size_t>(Tier::host)];
  EXPECT_GE(peak, planned - 3 * Memory::most_stagger - slots);
}

TEST(Account, IsWhatWasPlanned) {
  for (const char* budget : {"checkpoints.host=9 slots", "checkpoints.host=1 GiB"}) {
    expect_planned(test::text_case(plate, {budget}));
    for (const char* name : {"gray-scott", "heat-conductivity", "lynx-hare"})
      expect_planned(test::shipped_case(name, {budget}));
  }
}

/// Tables of pages, scratch of coders, states that wait: whatever tiers are coded.
TEST(Account, StaysWithinTheBudgetWithCodedTiers) {
  for (const char* name : {"gray-scott", "lynx-hare"})
    for (const char* host : {"{size: 9 MiB, codec: zstd}", "{size: 9 MiB, codec: quantised, tolerance: 1e-4}", "9 MiB"})
      for (const char* disk : {"{size: 30 MiB, codec: lz4}", "{size: 3 MiB, codec: zfp, tolerance: 1e-5}"}) {
        SCOPED_TRACE(std::string(name) + " " + host + " " + disk);
        Session session(test::shipped_case(
                            name, {std::string("checkpoints.host=") + host, std::string("checkpoints.disk=") + disk}),
                        test::self(), true, false, true, options());
        session.gradient({});
        EXPECT_LE(session.simulation().memory()->peak(), session.budget(Tier::host));
      }
}

/// Queues grow deeper with the memory, but never by what checkpoints need.
TEST(Account, WhatRunsRunsWithMore) {
  PlanOptions only = options();
  only.only_plan = true;
  for (const std::string disk : {"", "{size: 30 MiB, codec: lz4}", "30 MiB"}) {
    bool has_run = false;
    for (std::int64_t kib = 7000; kib <= 11000; kib += 200) {
      std::vector<std::string> set{fmt::format("checkpoints.host={{size: {} KiB, codec: zstd}}", kib)};
      if (!disk.empty()) set.push_back("checkpoints.disk=" + disk);
      try {
        const Session session(test::shipped_case("gray-scott", set), test::world(), true, false, true, only);
        has_run = true;
      } catch (const InputError& error) {
        EXPECT_FALSE(has_run) << kib << " KiB, disk " << disk << ": " << error.what();
      }
    }
    EXPECT_TRUE(has_run);
  }
}

TEST(Account, ACodedHostGetsTheMemoryThatADiskDoesNotUse) {
  const auto inputs = [](const std::vector<std::string>& set) {
    Session session(test::shipped_case("gray-scott", set), test::world(), true, false, true, options());
    EXPECT_EQ(session.plan().request.capacities[Tier::disk], 0);
    return session.plan_inputs();
  };
  const std::string host = "checkpoints.host={size: 1 GiB, codec: zstd}", schedule = "checkpoints.schedule=revolve";
  const PlanInputs with = inputs({host, schedule, "checkpoints.disk=1 GiB"}), without = inputs({host, schedule});
  EXPECT_EQ(with.working_bytes, without.working_bytes);
  EXPECT_EQ(with.units.slots, without.units.slots);
}

TEST(Account, HoldsTheTableOfPages) {
  const auto account = std::make_shared<MemoryAccount>();
  {
    const CountMemory counted(account);
    const PageArena arena(1000);
    EXPECT_EQ(account->used(), 1000 * PageArena::table_bytes);
  }
  EXPECT_EQ(account->used(), 0);
}

}  // namespace
}  // namespace hindsight
