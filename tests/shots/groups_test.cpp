// Groups of ranks: the same sums, whoever works on which shot, and every shot once.
// ranks: 1 2 3 4
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "adjoint/shots/group_counter.hpp"
#include "adjoint/shots/shot_sum.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}

/// What a shot gives to the rank of this number in its group.
ShotPart part_of(std::size_t shot, int rank) {
  std::mt19937 random(static_cast<unsigned>(1000 * rank) + static_cast<unsigned>(shot));
  std::uniform_real_distribution<double> any(-1, 1);
  ShotPart part;
  for (int i = 0; i < 50 + 3 * rank; ++i) part.numbers.push_back(any(random) * std::pow(10.0, any(random)));
  return part;
}

bool is_left_out(std::size_t shot) {
  return shot % 5 == 3;
}

template <class Visit>
void for_each_division(const Visit& visit) {
  for (int count = 1; count <= world().size(); ++count)
    if (world().size() % count == 0) visit(count);
}

TEST(Groups, DivideRanks) {
  for_each_division([](int count) {
    const ShotGroups groups(world(), count);
    EXPECT_EQ(groups.count(), count);
    EXPECT_EQ(groups.group().size() * count, world().size());
    EXPECT_EQ(groups.across().size(), count);
    EXPECT_EQ(groups.across().rank(), groups.index());
    EXPECT_EQ(groups.index() * groups.group().size() + groups.group().rank(), world().rank());
  });
}

TEST(Groups, MustDivideRanks) {
  try {
    const ShotGroups groups(world(), world().size() + 1);
    FAIL();
  } catch (const InputError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("--groups " + std::to_string(world().size() + 1)), std::string::npos) << said;
    EXPECT_NE(said.find("possible: 1"), std::string::npos) << said;
  }
}

TEST(Groups, GetEveryShotOnce) {
  constexpr std::int64_t shots = 200;
  for_each_division([](int count) {
    const ShotGroups groups(world(), count);
    GroupCounter queue(groups);
    for (int round = 0; round < 5; ++round) {
      std::vector<double> taken(shots, 0.0);
      for (std::int64_t next = queue.add(1); next < shots; next = queue.add(1))
        if (groups.group().is_root()) taken[static_cast<std::size_t>(next)] += 1.0;
      queue.restart();
      world().sum(taken);
      EXPECT_EQ(taken, std::vector<double>(shots, 1.0));
    }
  });
}

/// Keeps parts, and may lose them.
class Shelf final : public PartLog {
 public:
  std::int64_t put(const ShotPart& part) override {
    parts_.push_back(part);
    return std::ssize(parts_) - 1;
  }
  ShotPart get(std::int64_t place) override {
    if (is_broken) throw ResourceError("the shelf is broken");
    return parts_.at(static_cast<std::size_t>(place));
  }
  bool is_broken = false;

 private:
  std::vector<ShotPart> parts_;
};

/// What a group's shelf can no longer give ends the sum in all groups.
TEST(Groups, FailTogetherWhenAPartIsLost) {
  for_each_division([](int count) {
    if (count == 1) return;  // has added up all
    const ShotGroups groups(world(), count);
    for (int breaks = 0; breaks < count; ++breaks) {
      Shelf shelf;
      ShotSum sum(24, groups, &shelf, 1);
      for (std::size_t shot = 0; shot < 24; ++shot)
        if (static_cast<int>(shot / 2) % count == groups.index() && shot % 2 == 0) sum.add(shot, part_of(shot, 0));
      for (std::size_t shot = 1; shot < 24; shot += 2)
        if (static_cast<int>(shot / 2 + 1) % count == groups.index()) sum.add(shot, part_of(shot, 0));
      shelf.is_broken = breaks == groups.index();
      EXPECT_THROW(sum.total(), ResourceError);
    }
  });
}

/// One group's bits, in whatever order and wherever shots are done; all parts in memory, or two at most.
TEST(Groups, AddUpTheSameBits) {
  for (const std::size_t shots : {1U, 2U, 5U, 12U, 33U})
    for_each_division([shots](int count) {
      const ShotGroups groups(world(), count);
      const int rank = groups.group().rank();
      TreeSum<ShotPart> expected(shots);
      for (std::size_t shot = 0; shot < shots; ++shot)
        is_left_out(shot) ? expected.leave_out(shot) : expected.add(shot, part_of(shot, rank));
      const std::vector<double> all = expected.take()->numbers;
      for (unsigned seed = 0; seed < 8; ++seed) {
        std::vector<std::size_t> order(shots);
        for (std::size_t i = 0; i < shots; ++i) order[i] = i;
        std::mt19937 random(seed);  // the same on all ranks
        std::shuffle(order.begin(), order.end(), random);
        Shelf shelf;
        ShotSum sum(shots, groups, seed % 2 == 0 ? nullptr : &shelf, 2);
        for (const std::size_t shot : order) {
          if (static_cast<int>(random() % static_cast<unsigned>(count)) != groups.index()) continue;
          is_left_out(shot) ? sum.leave_out(shot) : sum.add(shot, part_of(shot, rank));
          EXPECT_LE(seed % 2 == 1 ? sum.waiting_in_memory() : 0, 2U);
        }
        EXPECT_EQ(sum.total()->numbers, all);
      }
    });
}

TEST(Groups, MayBeLeftWithNothing) {
  for_each_division([](int count) {
    const ShotGroups groups(world(), count);
    ShotSum sum(7, groups);
    for (std::size_t shot = 0; shot < 7; ++shot)
      if (static_cast<int>(shot) % count == groups.index()) sum.leave_out(shot);
    EXPECT_FALSE(sum.total().has_value());
  });
}

/// Scattered over the table as they come when all groups take turns: the formulas of docs/shots.md.
TEST(Groups, SendAsManyBytesAsTheyMust) {
  constexpr std::size_t shots = 24, numbers = 1000;
  for_each_division([](int count) {
    const ShotGroups groups(world(), count);
    ShotSum sum(shots, groups);
    for (std::size_t shot = 0; shot < shots; ++shot)
      if (static_cast<int>(shot) % count == groups.index()) sum.add(shot, {std::vector<double>(numbers, 1.0)});
    const std::size_t waiting = sum.waiting();
    const std::optional<ShotPart> total = sum.total();
    EXPECT_EQ(total->numbers, std::vector<double>(numbers, static_cast<double>(shots)));
    const ShotSum::Traffic& sent = sum.sent();
    if (groups.index() == 0) {
      EXPECT_EQ(sent.messages, 0);
      return;
    }
    EXPECT_LE(waiting, shots / static_cast<std::size_t>(count));
    EXPECT_EQ(sent.messages, 1 + static_cast<std::int64_t>(waiting));
    EXPECT_EQ(sent.bytes, static_cast<std::int64_t>(8 * waiting * (numbers + 3)));
    if (groups.group().is_root() && groups.index() == 1)
      std::printf("%d groups: %lld messages of a rank, %lld bytes; 8 m n/G = %zu\n", count,
                  static_cast<long long>(sent.messages), static_cast<long long>(sent.bytes),
                  8 * numbers * shots / static_cast<std::size_t>(count));
  });
}

}  // namespace
}  // namespace hindsight
