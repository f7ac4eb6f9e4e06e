#include "runtime/ordered_sum.hpp"

#include <vector>

#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

double pairwise_sum(const double* values, std::int64_t count) {
  if (count <= 8) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i) sum += values[i];
    return sum;
  }
  const std::int64_t half = count / 2;
  return pairwise_sum(values, half) + pairwise_sum(values + half, count - half);
}

double ordered_sum(std::span<const double> rows, std::span<const std::int64_t> global_row, std::int64_t total,
                   const Communicator& comm) {
  if (rows.size() != global_row.size()) throw Error(ExitCode::bug, "ordered_sum: rows without an index");
  const auto size = static_cast<std::size_t>(total);
  CountedVector<double> ordered(size, 0.0);
  const auto place = [&](std::span<const double> values, std::span<const std::int64_t> index) {
    for (std::size_t i = 0; i < values.size(); ++i) ordered[static_cast<std::size_t>(index[i])] = values[i];
  };
  if (comm.size() == 1) {
    place(rows, global_row);
    return pairwise_sum(ordered.data(), total);
  }
  CountedVector<double> all_rows(size);
  CountedVector<std::int64_t> all_index(size);
  const int mine = static_cast<int>(rows.size());
  std::vector<int> counts(static_cast<std::size_t>(comm.size())), starts(counts.size(), 0);
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm.handle());
  for (std::size_t r = 1; r < counts.size(); ++r) starts[r] = starts[r - 1] + counts[r - 1];
  MPI_Allgatherv(rows.data(), mine, MPI_DOUBLE, all_rows.data(), counts.data(), starts.data(), MPI_DOUBLE,
                 comm.handle());
  MPI_Allgatherv(global_row.data(), mine, MPI_INT64_T, all_index.data(), counts.data(), starts.data(), MPI_INT64_T,
                 comm.handle());
  place(all_rows, all_index);
  return pairwise_sum(ordered.data(), total);
}

std::int64_t ordered_sum_bytes(std::int64_t total, const Communicator& comm) {
  const std::int64_t gathered = comm.size() == 1 ? 0 : sizeof(double) + sizeof(std::int64_t);
  return total * (static_cast<std::int64_t>(sizeof(double)) + gathered);
}

}  // namespace hindsight
