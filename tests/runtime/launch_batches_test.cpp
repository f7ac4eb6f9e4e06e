// Launches that come again go as one graph; what was asked is done once, in order, with its own arguments.
#include "runtime/launch_batches.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "runtime/error.hpp"

namespace hindsight::device {
namespace {

using Done = std::vector<std::tuple<std::size_t, double, std::int64_t>>;  // kernel, argument, blocks

class Recorder final : public Program {
 public:
  void run(std::size_t kernel, Arguments arguments, std::int64_t blocks) override {
    if (batches.is_open()) return batches.add({this, kernel, arguments, blocks});
    done.emplace_back(kernel, *static_cast<const double*>(arguments.data), blocks);
  }
  Done done;
  int made = 0, replayed = 0;
  bool has_memory = true;
  LaunchBatches batches{[this](const Launches::Launch& launch) { launched(launch); },
                        [this](const Launches& all) { return std::make_unique<Graph>(*this, all); }};

 private:
  class Graph final : public LaunchBatches::Graph {
   public:
    Graph(Recorder& owner, Launches launches) : owner_(owner), launches_(std::move(launches)) {
      ++owner.made;
      if (!owner.has_memory) throw ResourceError("out of memory");
    }
    void run() override {
      ++owner_.replayed;
      launches_.for_each([this](const Launches::Launch& launch) { owner_.launched(launch); });
    }

   private:
    Recorder& owner_;
    Launches launches_;
  };
  void launched(const Launches::Launch& launch) {
    EXPECT_EQ(launch.program, this);
    done.emplace_back(launch.kernel, *static_cast<const double*>(launch.arguments.data), launch.blocks);
  }
};

/// Three launches in a batch. @returns what must be done.
Done step(Recorder& program, double argument) {
  Done wanted;
  program.batches.begin();
  for (std::size_t kernel = 0; kernel < 3; ++kernel) {
    double mine = argument + static_cast<double>(kernel);
    wanted.emplace_back(kernel, mine, 7 + static_cast<std::int64_t>(kernel));
    program.run(kernel, Arguments(mine), 7 + static_cast<std::int64_t>(kernel));
    mine = -1;  // copied before
  }
  program.batches.end();
  return wanted;
}

TEST(LaunchBatches, GoAsOneWhenTheyComeAgain) {
  Recorder program;
  Done wanted;
  for (const double argument : {1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0, 2.0, 1.0})
    for (const auto& launch : step(program, argument)) wanted.push_back(launch);
  EXPECT_EQ(program.done, wanted);
  EXPECT_EQ(program.made, 2);
  EXPECT_EQ(program.replayed, 4);
  EXPECT_EQ(program.batches.replayed(), 4);
}

TEST(LaunchBatches, WaitForNothingElse) {
  Recorder program;
  const double argument = 5.0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    program.batches.begin();
    program.run(0, Arguments(argument), 1);
    program.run(1, Arguments(argument), 1);
    EXPECT_EQ(program.done.size(), 3U * static_cast<std::size_t>(repeat));
    program.batches.flush();  // something is copied
    EXPECT_EQ(program.done.size(), 3U * static_cast<std::size_t>(repeat) + 2);
    program.run(2, Arguments(argument), 1);
    program.batches.end();
  }
  program.run(3, Arguments(argument), 1);
  EXPECT_EQ(program.done.size(), 10U);
  EXPECT_EQ(program.made, 0);  // of one launch none is made
}

TEST(LaunchBatches, ForgetProgramsThatGo) {
  Recorder program;
  for (int i = 0; i < 2; ++i) step(program, 1.0);
  program.batches.forget();
  for (int i = 0; i < 2; ++i) step(program, 1.0);
  EXPECT_EQ(program.made, 0);
  step(program, 1.0);
  EXPECT_EQ(program.made, 1);
}

/// More than are remembered, among them graphs.
TEST(LaunchBatches, ForgetOldOnes) {
  Recorder program;
  Done wanted;
  for (int n = 0; n < 1500; ++n)
    for (int i = 0; i < 3; ++i)
      for (const auto& launch : step(program, n)) wanted.push_back(launch);
  EXPECT_EQ(program.done, wanted);
  EXPECT_EQ(program.made, 1500);
}

/// Without memory for graphs.
TEST(LaunchBatches, GoOneByOneWhereNoGraphCanBeMade) {
  Recorder program;
  program.has_memory = false;
  Done wanted;
  for (int i = 0; i < 6; ++i)
    for (const auto& launch : step(program, 1.0)) wanted.push_back(launch);
  EXPECT_EQ(program.done, wanted);
  EXPECT_EQ(program.made, 1);  // tried once
  EXPECT_EQ(program.replayed, 0);
}

TEST(LaunchBatches, LeaveNothingOfWorkThatFailed) {
  Recorder program;
  const double argument = 5.0;
  program.batches.begin();
  program.run(0, Arguments(argument), 1);
  program.batches.abandon();
  program.run(1, Arguments(argument), 1);
  EXPECT_EQ(program.done, (Done{{1, 5.0, 1}}));
}

TEST(LaunchBatches, PauseWhereNothingComesAgain) {
  Recorder program;
  Done wanted;
  for (int n = 0; n < 5000; ++n)
    for (const auto& launch : step(program, n)) wanted.push_back(launch);
  EXPECT_EQ(program.done, wanted);
  program.batches.begin();
  EXPECT_FALSE(program.batches.is_open());
  std::int64_t batches = 0;  // until it is tried again
  for (; !program.batches.is_open(); ++batches) program.batches.begin();
  EXPECT_GT(batches, 1000);
  EXPECT_LT(batches, 10000);
  program.batches.end();
}

}  // namespace
}  // namespace hindsight::device
