// The tests' main: starts MPI, gives every run a folder of its own, and makes one rank's failed expectation a failure
// of the whole run.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

/// All ranks' testing::TempDir() from now on.
std::string make_folder(int rank) {
  std::array<char, 4096> path{};
  if (rank == 0) {
    const std::string name = testing::TempDir() + "hindsight-XXXXXX";
    name.copy(path.data(), path.size() - 1);
    if (mkdtemp(path.data()) == nullptr) path.fill('\0');
  }
  MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  setenv("TEST_TMPDIR", path.data(), 1);
  return path.data();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string folder = make_folder(rank);
  int failed = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  // What a failed run wrote stays.
  std::error_code ignored;
  if (rank == 0 && any == 0 && !folder.empty()) std::filesystem::remove_all(folder, ignored);
  MPI_Finalize();
  return any;
}
