// Arrays over a small grid whose values are known, written by some ranks and read by others.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <filesystem>
#include <string>
#include <vector>

#include "solvers/grid/block_archive.hpp"
#include "tests/support.hpp"

namespace hindsight::test {

constexpr std::int64_t grid_cells = 12;  // up to three ranks share them evenly

inline Grid line(const Communicator& comm) {
  return Grid({{"x", grid_cells, 0, 1, true}}, comm, {1, 1, 1});
}

/// A number, and an array over the grid that belongs to it.
inline void write_values(BlockWriter& to, const Grid& grid, int number) {
  to.archive().write(number);
  const Box box = owned_box(grid);
  std::vector<double> values;
  for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) values.push_back(1000.0 * number + static_cast<double>(i));
  to.block(box, values);
}

inline void expect_values(BlockReader& from, const Grid& grid, int number) {
  EXPECT_EQ(from.get<int>(), number);
  const Box box = owned_box(grid);
  std::vector<double> values(static_cast<std::size_t>(box.cells()));
  from.block(box, values);
  for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i - box.lo[0])], 1000.0 * number + static_cast<double>(i));
}

/// The first ranks of the world work together; the others wait.
template <class Work>
void on_first_ranks(int count, Work work) {
  const bool takes_part = world().rank() < count;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, 0, &some);
  if (takes_part) work(Communicator(some));
  if (takes_part) MPI_Comm_free(&some);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A folder for the files of the test that runs, empty, the same on all ranks.
inline std::string empty_folder() {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = testing::TempDir() + "/" + test->name();
  if (world().is_root()) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return folder;
}

/// The message of a ResourceError that `work` throws; empty: none.
template <class Work>
std::string resource_problem(Work work) {
  try {
    work();
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "";
}

}  // namespace hindsight::test
