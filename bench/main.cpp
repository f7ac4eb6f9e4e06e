// What every benchmark begins and ends with.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "bench/measure.hpp"
#include "runtime/error.hpp"

namespace {

/// Benchmarks have no options: whoever asks for one wants to know what there is.
void explain_itself(const char* program) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return;
  std::fprintf(stderr,
               "Usage: %s [JSON ...]\nMeasures for some minutes, prints a table, and writes it to the file JSON.\n"
               "The top of its source in bench/ says what it measures and how else it can be started.\n",
               program);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto is_option = [](const char* word) { return word[0] == '-'; };
  if (std::ranges::any_of(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), is_option)) {
    explain_itself(argv[0]);
    MPI_Finalize();
    return 2;
  }
  int code = 0;
  try {
    hindsight::bench::measure(argc, argv);
  } catch (const hindsight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = static_cast<int>(error.code());
  }
  MPI_Finalize();
  return code;
}
