// starts: ranks
// Processes that are killed while they write fields.h5, and others, on other numbers of ranks, that go on with it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

#include "tests/results/outputs.hpp"

namespace hindsight {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// What a child process does: writes outputs `from` to `to` of at most `most`, then dies or finishes.
struct Task {
  std::string folder;
  int dimensions = 2, from = 0, to = 0, most = 12;
  std::string death;  ///< "all" ranks together, "one" while the others write the next output, "" none
};

const char* const variable = "HINDSIGHT_TEST_TASK";

void die() {
  std::raise(SIGKILL);
}

// Skipped but in the child processes, which the tests below start.
TEST(Child, Works) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) GTEST_SKIP() << "no child process";
  Task task;
  char path[1000] = "", death[10] = "";
  ASSERT_EQ(std::sscanf(text, "%999s %d %d %d %d %9s", path, &task.dimensions, &task.from, &task.to, &task.most, death),
            6);
  const Communicator comm(MPI_COMM_WORLD);
  const Grid grid = output_grid(task.dimensions, comm);
  const RunFolder run(path, comm, {}, task.from > 0 ? EarlierResults::kept : EarlierResults::removed);
  const auto from = static_cast<std::size_t>(task.from), to = static_cast<std::size_t>(task.to);
  FieldWriter writer = from > 0 ? FieldWriter(run, grid, output_fields, task.most, outputs_written(grid, from))
                                : FieldWriter(run, grid, output_fields, task.most);
  for (std::size_t i = from; i < to; ++i) write_output(writer, grid, i);
  if (task.dimensions == 0) writer.flush();  // its outputs wait for others
  const std::string kind = death;
  if (kind == "all") {
    MPI_Barrier(MPI_COMM_WORLD);
    die();
  }
  if (kind == "one") {
    if (comm.rank() == comm.size() - 1) die();
    write_output(writer, grid, to);
  }
  writer.finish("test");
}

/// @returns whether the processes ended well.
bool run_child(int ranks, const Task& task) {
  const std::string command = fmt::format(
      "env -i PATH=\"$PATH\" HOME=\"$HOME\" TEST_TMPDIR=\"$TEST_TMPDIR\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" "
      "OMPI_ALLOW_RUN_AS_ROOT=1 "
      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none {}='{} {} {} {} {} {}' "
      "timeout 120 mpirun --oversubscribe --bind-to none -n {} {} --gtest_filter=Child.Works > {}.txt 2>&1",
      variable, task.folder, task.dimensions, task.from, task.to, task.most, task.death.empty() ? "none" : task.death,
      ranks, fs::read_symlink("/proc/self/exe").string(), task.folder);
  return std::system(command.c_str()) == 0;
}

std::string folder(const std::string& name) {
  return testing::TempDir() + "killed-" + name;
}

bool others_read(const std::string& file) {
  return std::system(("env -i PATH=\"$PATH\" h5dump -H " + file + " > /dev/null").c_str()) == 0;
}

/// Written by this process alone, without a break.
std::string unbroken_file(int dimensions, std::size_t count, std::int64_t most) {
  const Communicator self(MPI_COMM_SELF);
  const Grid grid = output_grid(dimensions, self);
  const RunFolder run(folder("unbroken"), self);
  FieldWriter writer(run, grid, output_fields, most);
  for (std::size_t i = 0; i < count; ++i) write_output(writer, grid, i);
  writer.finish("test");
  return run.file("fields.h5");
}

/// The outputs that a killed process wrote are in the file that it left, which opens.
void expect_outputs(const std::string& path, int dimensions, std::size_t count) {
  const auto left = datasets_of(path), expected = datasets_of(unbroken_file(dimensions, count, 12));
  for (const auto& [name, dataset] : expected) {
    ASSERT_EQ(left.count(name), 1u) << name;
    EXPECT_TRUE(left.at(name).bytes.substr(0, dataset.bytes.size()) == dataset.bytes) << name;
  }
}

void expect_survival(int dimensions, const std::string& death, int ranks, int later_ranks, int most_written) {
  SCOPED_TRACE(
      fmt::format("{} axes, {} killed of {} ranks, gone on with by {}", dimensions, death, ranks, later_ranks));
  Task task{folder(fmt::format("{}-{}-{}", dimensions, death, ranks)), dimensions, 0, 5, 12, death};
  EXPECT_FALSE(run_child(ranks, task));
  const std::string left = task.folder + "/fields.h5.partial";
  expect_outputs(left, dimensions, 5);
  EXPECT_TRUE(others_read(left));
  Task later{task.folder, dimensions, 4, 7, 12, death};  // one output is written twice
  EXPECT_FALSE(run_child(later_ranks, later));
  expect_outputs(left, dimensions, 7);
  Task last{task.folder, dimensions, 7, most_written, 12, ""};
  EXPECT_TRUE(run_child(ranks, last)) << file_bytes(task.folder + ".txt");
  EXPECT_FALSE(fs::exists(left));
  const std::string finished = task.folder + "/fields.h5";
  expect_same_datasets(finished, unbroken_file(dimensions, static_cast<std::size_t>(most_written), 12));
  EXPECT_TRUE(others_read(finished));
}

TEST(Killed, OneRankIsGoneOnWithByThree) {
  expect_survival(2, "all", 1, 3, 12);
  expect_survival(3, "one", 1, 3, 9);
}

TEST(Killed, ThreeRanksAreGoneOnWithByOne) {
  expect_survival(1, "all", 3, 1, 9);
  expect_survival(2, "one", 3, 1, 12);
}

TEST(Killed, AnOdeIsGoneOnWith) {
  expect_survival(0, "all", 1, 3, 12);
  expect_survival(0, "one", 3, 1, 9);
}

TEST(Killed, AFileThatWasCutIsRefused) {
  Task task{folder("cut"), 2, 0, 5, 12, "all"};
  EXPECT_FALSE(run_child(3, task));
  const std::string left = task.folder + "/fields.h5.partial";
  fs::resize_file(left, fs::file_size(left) / 2);
  Task later{task.folder, 2, 4, 12, 12, ""};
  EXPECT_FALSE(run_child(2, later));
  const std::string said = file_bytes(task.folder + ".txt");
  EXPECT_NE(said.find("cannot go on with '" + left + "'"), std::string::npos) << said;
}

}  // namespace
}  // namespace hindsight
