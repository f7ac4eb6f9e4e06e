// Random numbers in arrays: filled once per step, read by kernels as any field.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/graph.hpp"
#include "solvers/equations/random.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

struct NoiseField {
  Noise noise;
  double* cells = nullptr;  ///< local cell (0,0,0)
};

/// A cell's number depends on its place in the whole grid, i + n_x (j + n_y k). Ghosts hold the number of the cell that
/// they wrap to, or mirror at a wall, as parameter fields do: nothing is exchanged.
/// Traffic per step and array: each cell written once. A number takes about as long as the memory traffic of ten
/// doubles.
class NoiseFields {
 public:
  /// Fills those that do not change with the step. Collective.
  NoiseFields(std::vector<NoiseField> fields, const Grid& grid);
  /// Does nothing when the array holds this step already.
  void fill(std::size_t i, std::int64_t step);

 private:
  void fill_rows(const NoiseField& field, std::uint64_t counter) const;
  void run_program(const NoiseField& field, std::uint64_t counter) const;
  const Grid& grid_;
  std::array<std::vector<std::int64_t>, 3> cell_;  ///< per axis: global indices of local cells, ghosts included
  std::unique_ptr<RandomKernels> kernels_;         // on the host
  std::unique_ptr<device::Program> program_;       // on a device, which has its cell_:
  std::array<Memory, 3> places_;
  std::vector<NoiseField> fields_;
  std::vector<std::int64_t> step_;  ///< that each array holds
};

}  // namespace hindsight
