// Memory: within the budget, used when it helps, as the operating system sees it, and none asked for while stepping.
#include <unistd.h>
#include <fstream>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "tests/support.hpp"

#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
#define COUNTS_ALLOCATIONS

namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
void count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count();
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  count();
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
}
#endif
#endif

namespace hindsight {
namespace {

[[maybe_unused]] std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

SessionOptions options() {
  SessionOptions all;
  all.disk.scratch = testing::TempDir() + "memory";
  return all;
}

Session gray_scott(std::vector<std::string> set) {
  set.insert(set.end(), {"grid.x.cells=128", "grid.y.cells=96", "time.step=0.5", "time.to=200"});
  return Session(test::shipped_case("gray-scott", set), test::self(), Sensitivities::adjoint, options());
}

TEST(Memory, StaysWithinTheBudgetAndUsesIt) {
  for (const char* budget : {"9 MiB", "12 MiB", "20 MiB", "40 MiB", "80 MiB"})
    for (const char* disk : {"", "checkpoints.disk=1 GiB"})
      for (const char* schedule : {"auto", "revolve", "stride"}) {
        if (*disk == '\0' && std::string(schedule) == "stride") continue;
        SCOPED_TRACE(std::string(budget) + " " + disk + " " + schedule);
        std::vector<std::string> set{std::string("checkpoints.host=") + budget,
                                     std::string("checkpoints.schedule=") + schedule};
        if (*disk != '\0') set.push_back(disk);
        Session session = gray_scott(set);
        session.gradient({});
        const MemoryAccount& account = *session.simulation().memory();
        EXPECT_LE(account.peak(), session.budget(Tier::host));
        EXPECT_LE(account.peak(), account.limit());
        const CheckpointPlan& plan = session.plan();
        const std::int64_t planned =
            session.plan_inputs().working(Tier::host) + plan.checkpoint_bytes(Tier::host, session.plan_inputs());
        EXPECT_LE(account.peak(), planned);
        // Of itself a plan leaves memory that takes longer to make than it gains.
        const bool more_would_help = !plan.is_automatic && plan.kind->name == "revolve" && plan.recomputation() > 2;
        if (!more_would_help) continue;
        EXPECT_GE(static_cast<double>(account.peak()), 0.95 * static_cast<double>(session.budget(Tier::host)));
      }
}

TEST(Memory, OfDifferencesIsWithinTheBudget) {
  for (const char* codec : {"zstd", "quantised, tolerance: 1e-6", "zfp, tolerance: 1e-6", "float32, then: lz4"})
    for (const char* budget : {"12 MiB", "24 MiB"}) {
      SCOPED_TRACE(std::string(budget) + " " + codec);
      const std::string coded = std::string(", codec: ") + codec + ", difference: neighbour}";
      Session session = gray_scott({std::string("checkpoints.host={size: ") + budget + coded,
                                    "checkpoints.disk={size: 20 MiB" + coded, "checkpoints.schedule=hrevolve"});
      session.gradient({});
      const MemoryAccount& account = *session.simulation().memory();
      EXPECT_LE(account.peak(), session.budget(Tier::host));
      EXPECT_LE(account.peak(), account.limit());
    }
}

TEST(Memory, IsRefusedBeyondTheLimit) {
  const auto account = std::make_shared<MemoryAccount>();
  account->set_limit(1 << 20);
  {
    const CountMemory counted(account);
    const Memory some(1000);
    EXPECT_EQ(account->used(), 8000);
    EXPECT_THROW(Memory(1 << 20), Error);
    EXPECT_EQ(account->used(), 8000);
  }
  EXPECT_EQ(account->used(), 0);
  EXPECT_EQ(account->peak(), 8000);
  const Memory uncounted(1000);
  EXPECT_EQ(account->used(), 0);
}

#ifdef COUNTS_ALLOCATIONS
TEST(Memory, NothingIsAllocatedWhileStepping) {
  for (const char* schedule : {"store-all", "revolve", "cams", "stride", "hrevolve", "multistage", "periodic"}) {
    SCOPED_TRACE(schedule);
    const bool everything = std::string(schedule) == "store-all";
    Session session =
        gray_scott({std::string("checkpoints.schedule=") + schedule, "checkpoints.period=20",
                    everything ? "checkpoints.host=1 GiB" : "checkpoints.host=20 slots",
                    schedule == std::string("stride")
                        ? "checkpoints.disk={size: 500 slots, codec: zfp, tolerance: 1e-9, difference: neighbour}"
                        : "checkpoints.disk=500 slots"});
    Simulation& simulation = session.simulation();
    const std::int64_t n = simulation.time().steps();
    allocations = 0;
    std::int64_t counted = 0;
    const ProgressObserver progress = [&](std::int64_t forward, std::int64_t reversed) {
      counting = forward >= 40 && reversed < n - 40;
      counted += counting;
    };
    simulation.gradient(session.plan().schedule, false, {{}, progress});
    counting = false;
    EXPECT_GT(counted, 0);
    EXPECT_EQ(allocations, 0);
  }
}

TEST(Memory, IsWhatTheOperatingSystemSees) {
  const std::int64_t base = resident_bytes();
  Session session = gray_scott(
      {"checkpoints.host=300 MiB", "checkpoints.disk=200 MiB", "grid.x.cells=512", "grid.y.cells=384", "time.to=100"});
  session.gradient({});
  const std::int64_t grown = resident_bytes() - base, tracked = session.simulation().memory()->peak();
  constexpr std::int64_t program = 24 << 20;  // compiled kernels, libraries' buffers, threads' stacks
  EXPECT_LE(grown, static_cast<std::int64_t>(1.05 * static_cast<double>(tracked)) + program);
  EXPECT_GE(grown, static_cast<std::int64_t>(0.95 * static_cast<double>(tracked)) - program);
}

/// HINDSIGHT_GRADIENTS: how many; 200 in scripts/test --long.
TEST(Memory, IsFlatOverManyGradients) {
  const char* const wanted = std::getenv("HINDSIGHT_GRADIENTS");
  const int gradients = wanted != nullptr ? std::atoi(wanted) : 60;
  Session session = gray_scott(
      {"checkpoints.host=20 slots", "checkpoints.disk=100 slots", "checkpoints.schedule=stride", "time.to=20"});
  std::int64_t before = 0;
  for (int i = 0; i < gradients; ++i) {
    if (i == 20) before = resident_bytes();
    session.gradient({});
  }
  EXPECT_LT(resident_bytes() - before, 1 << 20);
}
#endif

}  // namespace
}  // namespace hindsight
