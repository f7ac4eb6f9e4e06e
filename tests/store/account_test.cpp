// The account holds all that a gradient takes, and the plan says how much that is.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "tests/support.hpp"
#include "tests/whole.hpp"

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

SessionOptions options() {
  SessionOptions all;
  all.disk.scratch = testing::TempDir() + "account";
  return all;
}

/// The peak of a gradient is what was planned, but for the places where large blocks may begin, and for a byte per slot
/// that only slots that are lost need.
void expect_planned(const Case& c) {
  SCOPED_TRACE(c.name);
  Session session(c, test::world(), Sensitivities::adjoint, options());
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
                        test::self(), Sensitivities::adjoint, options());
        session.gradient({});
        EXPECT_LE(session.simulation().memory()->peak(), session.budget(Tier::host));
      }
}

/// In steps from one budget to another: what runs with one runs with every larger one.
/// @param source a case with these overrides; the first one is the host's. @param step twice that, but in the whole
/// test.
void expect_monotone(const std::function<Case(const std::vector<std::string>&)>& source, const Communicator& comm,
                     const std::vector<std::string>& tiers, std::int64_t from, std::int64_t to, std::int64_t step) {
  std::string refusal;
  bool has_run = false;
  for (std::int64_t bytes = from; bytes <= to; bytes += test::is_whole() ? step : 2 * step) {
    std::vector<std::string> set = tiers;
    set[0] = fmt::format("checkpoints.host={{size: {} B, codec: {}}}", bytes, tiers[0]);
    try {
      const Session session(source(set), comm, Sensitivities::adjoint, options());
      has_run = true;
    } catch (const InputError& error) {
      refusal = error.what();
      EXPECT_FALSE(has_run) << bytes << " B, disk " << set.back() << ": " << refusal;
    }
  }
  EXPECT_TRUE(has_run && !refusal.empty()) << refusal;
}

Case gray_scott(const std::vector<std::string>& set) {
  return test::shipped_case("gray-scott", set);
}
Case lynx_hare(const std::vector<std::string>& set) {
  return test::shipped_case("lynx-hare", set);
}

/// States of whole pages, which a codec that gains nothing makes a page larger.
Case line(const std::vector<std::string>& set) {
  return test::text_case(R"yaml(
case: line
grid: {x: {cells: 512, to: 1}}
parameters: {k: 1e-4}
state: {u: {initial: "sin(1e5*x*(x + 7))"}}
equations: {dt(u): "k*lap(u)"}
time: {method: rk4, step: 1e-4, to: 0.01}
objective: [{final: "u^2"}]
unknowns: {k: {}}
)yaml",
                         set);
}

constexpr std::int64_t kib = 1024;

/// Queues grow deeper with the memory, but never by what checkpoints need: of large states, and of small ones, which
/// tables and pages take more memory than.
TEST(Account, WhatRunsRunsWithMore) {
  const std::int64_t ranks = test::world().size();
  for (const std::string disk : {"", "{size: 30 MiB, codec: lz4}", "60 slots"}) {
    std::vector<std::string> tiers{"zstd"};
    if (!disk.empty()) tiers.push_back("checkpoints.disk=" + disk);
    expect_monotone(gray_scott, test::world(), tiers, 3000 * kib / ranks, 11000 * kib / ranks, 200 * kib / ranks);
    if (ranks == 1) expect_monotone(lynx_hare, test::self(), tiers, 130 * kib, 400 * kib, 5 * kib);
  }
}

/// One that needs more slots than deep queues leave.
TEST(Account, ASchedulesSlotsComeBeforeDeepQueues) {
  const std::int64_t ranks = test::world().size();
  expect_monotone(gray_scott, test::world(), {"zstd", "checkpoints.schedule=store-all", "time.to=24"},
                  3000 * kib / ranks, 15000 * kib / ranks, 200 * kib / ranks);
}

/// The gradient that a codec's error is told from is made with any schedule, whose states are larger.
TEST(Account, AnExactGradientFitsWhereCodedOnesDo) {
  const std::int64_t ranks = test::world().size();
  Session session(
      gray_scott({fmt::format("checkpoints.host={{size: {} B, codec: zfp, accept: 1e-3}}", 9000 * kib / ranks),
                  "checkpoints.schedule=store-all", "time.to=20"}),
      test::world(), Sensitivities::adjoint, options());
  session.gradient({});
  EXPECT_EQ(session.plan().kind->name, "store-all");
}

/// From one slot to twenty.
TEST(Account, StatesOfWholePagesAreMeasuredWithinTheBudget) {
  if (test::world().size() > 1) return;
  expect_monotone(line, test::self(), {"lz4"}, 120 * kib, 260 * kib, kib);
}

/// A codec that the disk could gain from takes memory that a checkpoint needs.
TEST(Account, ACodecThatDoesNotFitIsLeftOut) {
  const std::int64_t ranks = test::world().size();
  expect_monotone(gray_scott, test::world(), {"none", "checkpoints.disk=30 MiB", "time.to=20000"}, 3000 * kib / ranks,
                  9000 * kib / ranks, 120 * kib / ranks);
}

/// Of the number of bytes that a refusal names.
double named_bytes(const std::string& text) {
  std::istringstream words(text.substr(text.find("together ") + 9));
  double number = 0;
  std::string unit;
  words >> number >> unit;
  return number * (unit == "MiB" ? 1 << 20 : unit == "KiB" ? 1 << 10 : 1);
}

/// Of blocks of different sizes, and states whose pages a codec that gains nothing does not fit.
TEST(Account, WhatARefusalNamesIsEnough) {
  SessionOptions only = options();
  only.only_plan = true;
  const auto session = [&](const std::vector<std::string>& cells, double bytes, const char* codec) {
    std::vector<std::string> set = cells;
    set.push_back(fmt::format("checkpoints.host={{size: {:.0f} B, codec: {}}}", std::ceil(bytes), codec));
    return Session(test::text_case(plate, set), test::world(), Sensitivities::adjoint, only);
  };
  for (const char* codec : {"zstd", "none", "lz4"})
    for (const auto& cells : {std::vector<std::string>{"grid.x.cells=117", "grid.y.cells=84"},
                              {"grid.x.cells=64", "grid.y.cells=64", "state={T: {initial: 'sin(1e5*x*(y + 7))'}}"}}) {
      double enough = 40000;
      std::string refusal;
      bool is_whole = false;
      for (int tries = 0; tries < 4 && !is_whole; ++tries) {  // first of the working memory, then of all
        try {
          const Session refused = session(cells, enough, codec);
          break;
        } catch (const InputError& error) {
          refusal = error.what();
        }
        is_whole = refusal.find("together") != std::string::npos;
        enough = named_bytes(is_whole ? refusal : "together " + refusal.substr(refusal.find("needs ") + 6));
      }
      EXPECT_TRUE(is_whole) << codec << ": " << refusal;
      EXPECT_NO_THROW(session(cells, enough, codec)) << codec << ": " << refusal;
    }
}

TEST(Account, ACodedHostGetsTheMemoryThatADiskDoesNotUse) {
  const auto inputs = [](const std::vector<std::string>& set) {
    Session session(test::shipped_case("gray-scott", set), test::world(), Sensitivities::adjoint, options());
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
