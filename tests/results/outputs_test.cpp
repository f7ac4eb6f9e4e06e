// ranks: 1 2 3 4
// fields.h5 while it is written: outputs move bytes and nothing else, unused room is given back, and what another
// process left is gone on with or refused.
#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/results/outputs.hpp"

namespace hindsight {
namespace {

using namespace test;
namespace fs = std::filesystem;

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}
std::string folder(const std::string& name) {
  return testing::TempDir() + "outputs-" + std::to_string(world().size()) + "-" + name;
}

/// The file after `count` of `most` outputs, finished.
std::string written_file(const Grid& grid, const std::string& name, std::size_t count, std::int64_t most) {
  const RunFolder run(folder(name), world());
  FieldWriter writer(run, grid, output_fields, most);
  for (std::size_t i = 0; i < count; ++i) write_output(writer, grid, i);
  writer.finish("test");
  MPI_Barrier(MPI_COMM_WORLD);
  return run.file("fields.h5");
}

/// A file that a process left after `count` of `most` outputs, which it had kept.
std::string left_file(const RunFolder& run, const Grid& grid, std::size_t count, std::int64_t most) {
  {
    FieldWriter writer(run, grid, output_fields, most);
    for (std::size_t i = 0; i < count; ++i) write_output(writer, grid, i);
    writer.flush();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return run.partial("fields.h5");
}

/// The bytes that belong to no dataset.
std::string description(const std::string& path) {
  std::string all = file_bytes(path);
  for (const auto& [name, dataset] : datasets_of(path))
    std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(dataset.offset), dataset.bytes.size(), '.');
  return all;
}

TEST(Outputs, ChangeNothingButTheBytesOfTheirDatasets) {
  for (const int dimensions : {0, 1, 2, 3}) {
    const Grid grid = output_grid(dimensions, world());
    const RunFolder run(folder("bytes"), world());
    FieldWriter writer(run, grid, output_fields, 40);
    const std::string path = run.partial("fields.h5");
    std::string before;
    world().on_root([&] { before = description(path); });
    for (std::size_t i = 0; i < 30; ++i) write_output(writer, grid, i);
    world().on_root([&] { EXPECT_TRUE(description(path) == before) << dimensions; });
    writer.flush();
    world().on_root([&] { EXPECT_TRUE(description(path) == before) << dimensions << ", flushed"; });
  }
}

TEST(Outputs, LieBehindAllThatDescribesThem) {
  for (const int dimensions : {0, 1, 2, 3})
    for (const std::int64_t most : {1, 10, 100, 2000}) {
      const Grid grid = output_grid(dimensions, world());
      const RunFolder run(folder("order"), world());
      const std::string path = left_file(run, grid, 0, most);
      world().on_root([&] {
        std::size_t first = fs::file_size(path), bytes = 0;
        for (const auto& [name, dataset] : datasets_of(path)) {
          first = std::min(first, dataset.offset);
          bytes += dataset.bytes.size();
        }
        EXPECT_EQ(first + bytes, fs::file_size(path)) << dimensions << " axes, " << most;
      });
    }
}

TEST(Outputs, RoomThatIsNotNeededIsGivenBack) {
  for (const int dimensions : {0, 1, 2, 3})
    for (const std::size_t count : {0, 1, 40}) {
      const Grid grid = output_grid(dimensions, world());
      const std::string cut = written_file(grid, "cut", count, 50);
      const std::string exact = written_file(grid, "exact", count, static_cast<std::int64_t>(count));
      world().on_root([&] {
        expect_same_datasets(cut, exact);
        const auto lists = datasets_of(cut);
        for (const char* name : {"/times", "/steps"}) EXPECT_EQ(lists.at(name).bytes.size(), 8 * count) << name;
        EXPECT_LE(fs::file_size(cut), 2 * fs::file_size(exact) + 12000) << dimensions << ", " << count;
      });
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST(Outputs, OfAnOdeComeSomeAtATime) {
  const Grid grid = output_grid(0, world());
  for (const std::size_t count : {1U, 63U, 64U, 65U, 128U, 200U}) {
    const std::string path = written_file(grid, "some", count, 200);
    world().on_root([&] {
      const OutputsWritten all = outputs_written(grid, count);
      const auto found = datasets_of(path);
      const auto expect = [&](const char* name, const void* numbers) {
        ASSERT_EQ(found.at(name).bytes.size(), 8 * count) << name;
        EXPECT_EQ(std::memcmp(found.at(name).bytes.data(), numbers, 8 * count), 0) << name << ", " << count;
      };
      expect("/times", all.times.data());
      expect("/steps", all.steps.data());
      expect("/u", all.values[0].data());
      expect("/v", all.values[1].data());
    });
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Outputs, AreMeasuredWithoutATrace) {
  for (const int dimensions : {0, 1, 2, 3}) {
    const Grid grid = output_grid(dimensions, world());
    const std::string expected = written_file(grid, "unmeasured", 7, 12);
    const RunFolder run(folder("measured"), world());
    {
      FieldWriter writer(run, grid, output_fields, 12);
      for (std::size_t i = 0; i < 7; ++i) {
        if (i % 3 == 0) {
          EXPECT_EQ(writer.measure() > 0, dimensions > 0);
        }
        write_output(writer, grid, i);
      }
      writer.measure();
      writer.finish("test");
    }
    world().on_root([&] { expect_same_datasets(run.file("fields.h5"), expected); });
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Outputs, MoreThanThereIsRoomForAreABug) {
  const Grid grid = output_grid(2, world());
  const RunFolder run(folder("more"), world());
  FieldWriter writer(run, grid, output_fields, 1);
  write_output(writer, grid, 0);
  EXPECT_THROW(write_output(writer, grid, 1), Error);
}

TEST(Outputs, GoOnAfterThoseThatWereKept) {
  for (const int dimensions : {0, 1, 2, 3}) {
    const Grid grid = output_grid(dimensions, world());
    const std::string expected = written_file(grid, "whole", 9, 12);
    const RunFolder run(folder("on"), world());
    left_file(run, grid, 6, 12);
    const RunFolder again(run.path(), world(), {}, EarlierResults::kept);
    FieldWriter writer(again, grid, output_fields, 12, outputs_written(grid, 4));
    EXPECT_EQ(writer.written().steps.size(), 4u);
    for (std::size_t i = 4; i < 9; ++i) write_output(writer, grid, i);
    writer.flush();
    EXPECT_EQ(writer.written().steps, outputs_written(grid, 9).steps);
    EXPECT_EQ(writer.written().times, outputs_written(grid, 9).times);
    EXPECT_EQ(writer.written().values, outputs_written(grid, 9).values);
    writer.finish("test");
    world().on_root([&] { expect_same_datasets(again.file("fields.h5"), expected); });
    EXPECT_EQ(fs::exists(again.file("fields.xdmf")), dimensions > 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Every rank is refused, and says `why`.
void expect_refused(const RunFolder& run, const Grid& grid, std::int64_t most, const OutputsWritten& written,
                    const std::string& why) {
  try {
    const FieldWriter writer(run, grid, output_fields, most, written);
    ADD_FAILURE() << "gone on with, though: " << why;
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("cannot go on with '" + run.partial("fields.h5")), std::string::npos);
  }
}

TEST(Outputs, OfAnotherRunAreRefused) {
  const Grid grid = output_grid(2, world());
  const RunFolder run(folder("other"), world());
  expect_refused(run, grid, 5, outputs_written(grid, 0), "no such file");
  left_file(run, grid, 3, 5);
  const OutputsWritten written = outputs_written(grid, 3);
  expect_refused(run, grid, 6, written, "dataset '/times' has shape 5, not 6");
  expect_refused(run, output_grid(3, world()), 5, written, "no dataset '/z'");
  expect_refused(run, output_grid(0, world()), 5, outputs_written(output_grid(0, world()), 3), "dataset '/u'");
  expect_refused(run, grid, 5, outputs_written(output_grid(0, world()), 3), "not of this run");
  expect_refused(run, grid, 2, written, "not of this run");
  OutputsWritten other = written;
  other.steps[2] = 21;
  expect_refused(run, grid, 5, other, "its steps are not those that were written");
  other = written;
  other.times[0] = 1e-9;
  expect_refused(run, grid, 5, other, "its times are not those that were written");
  EXPECT_NO_THROW(FieldWriter(run, grid, output_fields, 5, written));
}

TEST(Outputs, InADamagedFileAreRefused) {
  const Grid grid = output_grid(2, world());
  const RunFolder run(folder("damaged"), world());
  const std::string path = left_file(run, grid, 3, 50);
  std::string whole;
  world().on_root([&] { whole = file_bytes(path); });
  const auto with = [&](const auto& damage) {
    world().on_root([&] {
      std::string bytes = whole;
      damage(bytes);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    });
    expect_refused(run, grid, 50, outputs_written(grid, 3), "");
  };
  with([](std::string& bytes) { bytes.clear(); });
  with([](std::string& bytes) { bytes.resize(100); });
  with([](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  with([](std::string& bytes) { bytes[0] = 'x'; });
  const std::size_t signature = whole.rfind("OHDR");  // one of the last datasets
  world().on_root([&] { ASSERT_NE(signature, std::string::npos); });
  with([&](std::string& bytes) { bytes[signature + 12] ^= 1; });
  with([](std::string& bytes) { std::fill(bytes.begin() + 48, bytes.begin() + 20000, '\0'); });
  world().on_root([&] { std::ofstream(path, std::ios::binary | std::ios::trunc) << whole; });
  EXPECT_NO_THROW(FieldWriter(run, grid, output_fields, 50, outputs_written(grid, 3)));
}

}  // namespace
}  // namespace hindsight
