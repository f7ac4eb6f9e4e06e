#include "adjoint/problem/unknown_sums.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/ordered_sum.hpp"

namespace hindsight {

double sum_over_cells(const Grid& grid, const std::function<double(std::size_t cell)>& summand) {
  const std::int64_t row_length = grid.dimensions() <= 1 ? 1 : grid.cells()[0];
  std::vector<double> rows(static_cast<std::size_t>(grid.local_rows()), 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < row_length; ++i)
      rows[r] += summand(r * static_cast<std::size_t>(row_length) + static_cast<std::size_t>(i));
  return grid_sum(grid, rows.data());
}

double dot(const Simulation& simulation, const UnknownValues& a, const UnknownValues& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || b[i].empty()) continue;
    if (simulation.spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation.grid(), [&](std::size_t k) { return a[i][k] * b[i][k]; });
    } else {
      for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
    }
  }
  return sum;
}

double relative_difference(const Simulation& simulation, const UnknownValues& a, const UnknownValues& b) {
  constexpr double next_to_nothing = 1e-9;
  const auto norm = [&](const UnknownValues& values) { return std::sqrt(dot(simulation, values, values)); };
  std::vector<double> sizes, scales, differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    UnknownValues difference(a.size()), reference(a.size()), value(a.size());
    reference[i] = b[i];
    difference[i] = a[i];
    value[i] = simulation.moving(i).only(simulation.values()[i]);
    for (std::size_t k = 0; k < a[i].size(); ++k) difference[i][k] -= b[i][k];
    sizes.push_back(norm(reference));
    differences.push_back(norm(difference));
    scales.push_back(norm(value));
  }
  double most = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) most = std::max(most, sizes[i] * scales[i]);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double least = scales[i] > 0 ? next_to_nothing * most / scales[i] : 0.0;
    const double size = std::max(sizes[i], least);
    if (size > 0) largest = std::max(largest, differences[i] / size);
  }
  return largest;
}

}  // namespace hindsight
