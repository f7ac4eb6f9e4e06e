#include "src/ordered_sum.hpp"

#include "src/error.hpp"

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

double ordered_sum(const std::vector<double>& rows, const std::vector<std::int64_t>& global_row, std::int64_t total,
                   const Communicator& comm) {
  if (rows.size() != global_row.size()) throw Error(ExitCode::bug, "ordered_sum: rows without an index");
  std::vector<double> all_rows = rows;
  std::vector<std::int64_t> all_index = global_row;
  if (comm.size() > 1) {
    int mine = static_cast<int>(rows.size());
    std::vector<int> counts(static_cast<std::size_t>(comm.size())), starts(counts.size(), 0);
    MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm.handle());
    for (std::size_t r = 1; r < counts.size(); ++r) starts[r] = starts[r - 1] + counts[r - 1];
    all_rows.resize(static_cast<std::size_t>(total));
    all_index.resize(static_cast<std::size_t>(total));
    MPI_Allgatherv(rows.data(), mine, MPI_DOUBLE, all_rows.data(), counts.data(), starts.data(), MPI_DOUBLE,
                   comm.handle());
    MPI_Allgatherv(global_row.data(), mine, MPI_INT64_T, all_index.data(), counts.data(), starts.data(), MPI_INT64_T,
                   comm.handle());
  }
  std::vector<double> ordered(static_cast<std::size_t>(total), 0.0);
  for (std::size_t i = 0; i < all_rows.size(); ++i) ordered[static_cast<std::size_t>(all_index[i])] = all_rows[i];
  return pairwise_sum(ordered.data(), total);
}

}  // namespace hindsight
