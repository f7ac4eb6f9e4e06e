// What every benchmark begins and ends with.
#include <mpi.h>

#include "bench/measure.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  hindsight::bench::measure(argc, argv);
  MPI_Finalize();
}
