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

/// From the first cell.
std::int64_t first_ghost(const Layout& layout) {
  return layout.at(-layout.halo[0], -layout.halo[1], -layout.halo[2]) - layout.origin;
}

}  // namespace

NoiseFields::NoiseFields(std::vector<NoiseField> fields, const Grid& grid)
    : grid_(grid), fields_(std::move(fields)), step_(fields_.size(), no_step) {
  for (std::size_t a = 0; a < 3; ++a) {
    const bool periodic = a < grid.axes().size() && grid.axes()[a].periodic;
    const std::int64_t halo = grid.layout().halo[a];
    for (std::int64_t i = -halo; i < grid.cells()[a] + halo; ++i)
      cell_[a].push_back(owner(grid.first()[a] + i, grid.global_cells()[a], periodic));
  }
  if (grid.machine().is_host()) {
    kernels_ = std::make_unique<RandomKernels>(grid.communicator());
  } else {
    const device::ProgramText program = random_program();
    program_ = grid.machine().load(program.text, program.kernels, grid.communicator());
    for (std::size_t a = 0; a < 3; ++a) {  // integers are as long as doubles
      const auto count = static_cast<std::int64_t>(cell_[a].size());
      places_[a] = Memory(count, grid.machine());
      grid.machine().copy(places_[a].data(), reinterpret_cast<const double*>(cell_[a].data()), count);
    }
  }
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (!fields_[i].noise.changes_with_step) fill(i, 0);
}

void NoiseFields::fill(std::size_t i, std::int64_t step) {
  if (step_[i] == step) return;
  step_[i] = step;
  const Noise& noise = fields_[i].noise;
  std::uint64_t counter = noise.changes_with_step ? static_cast<std::uint64_t>(step) : of_cell_only;
  if (!noise.is_normal) counter |= of_uniform;
  program_ ? run_program(fields_[i], counter) : fill_rows(fields_[i], counter);
}

void NoiseFields::fill_rows(const NoiseField& field, std::uint64_t counter) const {
  const auto& [noise, cells] = field;
  const RandomRow row = noise.is_normal ? kernels_->normal() : kernels_->uniform();
  const Layout& layout = grid_.layout();
  const Index3& n = grid_.global_cells();
  const auto size = static_cast<std::int64_t>(cell_[0].size());
  double* plane = cells + first_ghost(layout);
  for (const std::int64_t k : cell_[2]) {
    double* first = plane;
    for (const std::int64_t j : cell_[1]) {
      row(first, cell_[0].data(), size, n[0] * (j + n[1] * k), counter, noise.seed, noise.stream);
      first += layout.stride_y;
    }
    plane += layout.stride_z;
  }
}

void NoiseFields::run_program(const NoiseField& field, std::uint64_t counter) const {
  const auto& [noise, cells] = field;
  const Layout& layout = grid_.layout();
  const Index3& n = grid_.global_cells();
  RandomField f;
  std::int64_t count = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    count *= f.size[a] = static_cast<std::int64_t>(cell_[a].size());
    f.places[a] = places_[a].data();
  }
  f.stride_y = layout.stride_y;
  f.stride_z = layout.stride_z;
  f.cells_x = n[0];
  f.cells_y = n[1];
  f.first = cells + first_ghost(layout);
  f.step = counter;
  f.seed = noise.seed;
  f.stream = noise.stream;
  program_->run(noise.is_normal ? 1 : 0, device::Arguments(f), (count + 127) / 128);
}

}  // namespace hindsight
