// What every benchmark begins and ends with.
#include <mpi.h>

#include <cstdio>

#include "bench/measure.hpp"
#include "runtime/error.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
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
