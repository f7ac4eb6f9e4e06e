// Kernels that follow each other, as one launch on a device: a block has a tile of a plane, and what a kernel hands on
// to the next ones stays in the block's shared memory. Around its tile a block computes again what its neighbours do:
// of each cell what they begin with is read at most three times, and what they end with is written once. Beyond walls
// nothing is computed: what kernels read there of those before them follows from the cells that it mirrors
// (grid/boundary.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "solvers/equations/emit_device.hpp"
#include "solvers/grid/cell_operations.hpp"

namespace hindsight {

/// What is beyond a wall.
struct WallOfTiles {
  GhostRule rule;
  double constant = 0.0;  ///< E
  /// Or the symbol of an array that holds E: of the wall's cell p, counted from 0, at p; as far around them as tiles
  /// compute.
  int values = -1;
};

/// In two dimensions, without sums.
struct KernelsOfTiles {
  /// An array that is handed on and that the next kernel reads beyond walls, [axis][side].
  struct BeyondWalls {
    int symbol;
    std::array<std::array<WallOfTiles, 2>, 2> walls;
  };
  struct One {
    const KernelSpec* spec;
    std::vector<int> handed_on;               ///< symbols of its outputs, all of them; of the last kernel none
    std::array<int, 3> around = {};           ///< cells to each side of a tile that it computes
    std::vector<BeyondWalls> beyond_walls{};  ///< of handed_on
  };
  std::string name;
  std::vector<int> begins_with;                 ///< symbols of arrays of which cells around a tile are read
  std::array<int, 3> around = {};               ///< so many to each side
  std::vector<One> kernels;                     ///< in their order; they outlive the rest
  std::array<bool, 2> has_walls{false, false};  ///< of these axes
};

/// Has one kernel, of that name. Nothing where what is handed on leaves no room in shared memory for tiles that are
/// worth it, or the text would take a compiler too long.
std::optional<DeviceSource> emit_device_tiles(const KernelsOfTiles& kernels);

}  // namespace hindsight
