// ranks: 1 2 3
// The outputs and the log of a run that another process goes on with.
#include <fstream>

#include "runtime/error.hpp"
#include "src/report.hpp"
#include "tests/results/outputs.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;
namespace fs = std::filesystem;

const char* const pulse = R"(
case: pulse
grid: {x: {cells: 24, from: 0, to: 1, boundary: periodic}, y: {cells: 12, from: 0, to: 1, boundary: periodic}}
state: {u: {initial: "1 + x*y"}, w: {initial: 0}}
equations: {dt(u): "-u", dt(w): "u"}
time: {method: rk4, step: 0.05, to: 2}
output: {every: 0.2, fields: [w, u]}
)";

const char* const decay = R"(
case: decay
state: {u: {initial: 1}}
equations: {dt(u): "-u"}
time: {method: rk4, step: 0.05, from: 0, to: 2}
output: {every: 0.2}
)";

std::string folder(const std::string& name) {
  return testing::TempDir() + "outputs-" + std::to_string(world().size()) + "-" + name;
}

struct Killed {};

/// The observer of `output`, which ends the process after `count` outputs.
StateObserver until_killed(OutputObserver& output, std::size_t count) {
  return [&output, count, observe = output.observer()](std::int64_t k, double t, StateBlocks state) {
    observe(k, t, state);
    if (output.written().steps.size() == count) throw Killed();
  };
}

/// A run without a break, and one killed after `count` outputs, leave the same file with `all` outputs.
void expect_equal_files(const Case& c, std::size_t count, std::size_t all) {
  Session session(c, world(), Sensitivities::none);
  const RunFolder whole(folder("whole"), world()), broken(folder("broken"), world());
  OutputObserver unbroken(session, whole);
  session.objective(unbroken.observer());
  EXPECT_EQ(unbroken.written().steps.size(), all);
  unbroken.finish();
  OutputsWritten written;
  {
    OutputObserver first(session, broken);
    EXPECT_THROW(session.objective(until_killed(first, count)), Killed);
    first.flush();
    written = first.written();
  }
  const RunFolder resumed(broken.path(), world(), {}, EarlierResults::kept);
  OutputObserver second(session, resumed, written);
  session.objective(second.observer());
  EXPECT_EQ(second.written().steps.size(), all);
  second.finish();
  world().on_root([&] { expect_same_datasets(resumed.file("fields.h5"), whole.file("fields.h5")); });
}

TEST(ProgramOutputs, AreTheSameAfterABreak) {
  for (const std::size_t count : {1, 4, 10}) {
    expect_equal_files(text_case(pulse), count, 11);
    expect_equal_files(text_case(decay), count, 11);
  }
}

TEST(ProgramOutputs, AreTheSameAfterABreakWhereTheEndIsNotKnown) {
  std::string text = decay;
  text.replace(text.find("from: 0, to: 2"), 14, R"(until: "norm(u) < 0.5", at most: 1000)");
  expect_equal_files(text_case(text), 2, 5);
}

TEST(ProgramOutputs, TheEndAloneIsOneOutput) {
  Session session(text_case(std::string(decay, std::strstr(decay, "output:"))), world(), Sensitivities::none);
  const RunFolder run(folder("end"), world());
  OutputObserver output(session, run);
  session.objective(output.observer());
  EXPECT_EQ(output.written().steps, std::vector<std::int64_t>{40});
  output.finish();
}

TEST(ProgramOutputs, TheLogGoesOn) {
  Session session(text_case(decay), world(), Sensitivities::none);
  const std::string path = folder("log");
  {
    const RunFolder run(path, world());
    RunLog(run, "run", session).event("hello");
    world().on_root([&] { std::ofstream(run.file("log.jsonl"), std::ios::app) << "{\"event\":\"tor"; });
  }
  const RunFolder run(path, world(), {}, EarlierResults::kept);
  RunLog(run, "run", session).event("again");
  world().on_root([&] {
    std::ifstream file(run.file("log.jsonl"));
    std::vector<std::string> events;
    for (std::string line; std::getline(file, line);) events.push_back(Json::parse(line)["event"]);
    EXPECT_EQ(events, (std::vector<std::string>{"started", "hello", "resumed", "again"}));
  });
}

}  // namespace
}  // namespace hindsight
