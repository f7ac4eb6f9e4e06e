#include "solvers/steppers/noise_fields.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t no_step = -1;

// Steps are less than 2^53; the bits above tell the kinds of numbers of one seed and stream apart.
constexpr std::uint64_t of_cell_only = std::uint64_t{1} << 63, of_uniform = std::uint64_t{1} << 62;

/// The cell that a ghost stands for.
std::int64_t owner(std::int64_t cell, std::int64_t cells, bool periodic) {
  if (periodic) return (cell % cells + cells) % cells;
  return cell < 0 ? -1 - cell : cell >= cells ? 2 * cells - 1 - cell : cell;
}

}  // namespace

NoiseFields::NoiseFields(std::vector<NoiseField> fields, const Grid& grid)
    : grid_(grid), kernels_(grid.communicator()), fields_(std::move(fields)), step_(fields_.size(), no_step) {
  for (std::size_t a = 0; a < 3; ++a) {
    const bool periodic = a < grid.axes().size() && grid.axes()[a].periodic;
    const std::int64_t halo = grid.layout().halo[a];
    for (std::int64_t i = -halo; i < grid.cells()[a] + halo; ++i)
      cell_[a].push_back(owner(grid.first()[a] + i, grid.global_cells()[a], periodic));
  }
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (!fields_[i].noise.changes_with_step) fill(i, 0);
}

void NoiseFields::fill(std::size_t i, std::int64_t step) {
  if (step_[i] == step) return;
  step_[i] = step;
  const auto& [noise, cells] = fields_[i];
  const RandomRow row = noise.is_normal ? kernels_.normal() : kernels_.uniform();
  std::uint64_t counter = noise.changes_with_step ? static_cast<std::uint64_t>(step) : of_cell_only;
  if (!noise.is_normal) counter |= of_uniform;
  const Layout& layout = grid_.layout();
  const Index3& n = grid_.global_cells();
  const auto size = static_cast<std::int64_t>(cell_[0].size());
  const bool is_host = grid_.machine().is_host();
  if (!is_host && passing_.size() == 0) passing_ = Memory(layout.size);
  double* plane = (is_host ? cells - layout.origin : passing_.data()) +
                  layout.at(-layout.halo[0], -layout.halo[1], -layout.halo[2]);
  for (const std::int64_t k : cell_[2]) {
    double* first = plane;
    for (const std::int64_t j : cell_[1]) {
      row(first, cell_[0].data(), size, n[0] * (j + n[1] * k), counter, noise.seed, noise.stream);
      first += layout.stride_y;
    }
    plane += layout.stride_z;
  }
  if (!is_host) grid_.machine().copy(cells - layout.origin, passing_.data(), layout.size);
}

}  // namespace hindsight
