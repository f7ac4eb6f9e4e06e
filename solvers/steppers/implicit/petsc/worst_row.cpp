#include "solvers/steppers/implicit/petsc/worst_row.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solvers/grid/place_text.hpp"

namespace hindsight {
namespace {

std::string place_of(const SystemRows& rows, std::size_t cell) {
  const auto at = static_cast<std::int64_t>(cell);
  const std::int64_t nx = rows.grid.cells()[0], ny = rows.grid.cells()[1];
  return place_text(rows.grid, {at % nx, at / nx % ny, at / nx / ny});
}

std::string equation_of(const SystemRows& rows, std::size_t variable) {
  const SystemVariable& v = rows.entries.variables()[variable];
  return (v.mass == 0.0 ? "zero(" : "dt(") + rows.model.fields[v.field] + ")";
}

/// By variable, over all ranks; those that are not finite left out.
std::vector<double> largest_of(const SystemRows& rows, const double* values) {
  const std::size_t variables = rows.entries.variables().size();
  std::vector<double> largest(variables, 0.0);
  for (std::size_t row = 0; row < rows.places.size() * variables; ++row)
    if (std::isfinite(values[row]))
      largest[row % variables] = std::max(largest[row % variables], std::fabs(values[row]));
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(variables), MPI_DOUBLE, MPI_MAX,
                rows.grid.communicator().handle());
  return largest;
}

double largest_entry(const SystemRows& rows, std::size_t cell, std::size_t variable) {
  double largest = rows.entries.variables()[variable].mass;
  for (const JacobianEntries::Entry& entry : rows.entries.all())
    if (entry.row == static_cast<int>(variable))
      largest = std::max(largest, std::fabs(rows.a * entry.at(rows.places[cell])));
  return largest;
}

/// A row of this rank.
struct Row {
  double size = 0.0;
  std::size_t number = 0;
};

Row worst_of_rank(const SystemRows& rows, const double* residual, const std::vector<double>& sizes) {
  Row worst;
  for (std::size_t row = 0; row < rows.places.size() * sizes.size(); ++row) {
    const std::size_t v = row % sizes.size();
    const double scale = largest_entry(rows, row / sizes.size(), v) * (sizes[v] > 0.0 ? sizes[v] : 1.0);
    double size = std::fabs(residual[row]) / (scale > 0.0 ? scale : 1.0);
    if (!std::isfinite(size)) size = std::numeric_limits<double>::infinity();
    if (size > worst.size) worst = {size, row};
  }
  return worst;
}

}  // namespace

std::string worst_row(const SystemRows& rows, Vec residual, Vec values) {
  const double *left = nullptr, *value = nullptr;
  VecGetArrayRead(values, &value);
  const std::vector<double> sizes = largest_of(rows, value);
  VecRestoreArrayRead(values, &value);
  VecGetArrayRead(residual, &left);
  const Row own = worst_of_rank(rows, left, sizes);
  VecRestoreArrayRead(residual, &left);
  const Communicator& comm = rows.grid.communicator();
  const double largest = comm.max(own.size);
  const bool is_worst = own.size == largest && largest > 0.0;
  return comm.first_text(
      is_worst ? equation_of(rows, own.number % sizes.size()) + place_of(rows, own.number / sizes.size()) : "");
}

std::string bad_derivative(const SystemRows& rows) {
  const auto name = [&](int v) {
    return rows.model.fields[rows.entries.variables()[static_cast<std::size_t>(v)].field];
  };
  std::string found;
  for (std::size_t cell = 0; cell < rows.places.size() && found.empty(); ++cell)
    for (const JacobianEntries::Entry& entry : rows.entries.all())
      if (found.empty() && !std::isfinite(entry.at(rows.places[cell])))
        found = fmt::format("that of {} with respect to {}{}", equation_of(rows, static_cast<std::size_t>(entry.row)),
                            name(entry.column), place_of(rows, cell));
  return rows.grid.communicator().first_text(found);
}

}  // namespace hindsight
