#include "solvers/steppers/device_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "solvers/equations/emit_device_tiles.hpp"
#include "solvers/grid/boundary.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/wavefront.hpp"

namespace hindsight {
namespace {

// So many times as deep as its halo a block is at least, where that is deepened.
constexpr std::int64_t thick = 16;

bool is_asked() {
  return std::holds_alternative<walks::Rows>(Wavefront::asked());
}

/// How deep what a step begins with must be there around a rank's cells, and what each stage computes.
struct Layers {
  std::array<int, 3> read{0, 0, 0};
  std::vector<std::array<int, 3>> written;
};

Layers layers_of(const std::vector<DeviceWalk::Stage>& stages) {
  Layers all;
  all.written.resize(stages.size());
  for (std::size_t i = stages.size(); i-- > 0;) {
    all.written[i] = all.read;
    all.read = add(all.read, stages[i].kernel->value_reach().depth);
  }
  return all;
}

/// Of all arrays, and coordinates, that stages read.
std::array<int, 3> ghosts_of(const std::vector<DeviceWalk::Stage>& stages, const Layers& layers) {
  std::array<int, 3> all = layers.read;
  for (std::size_t i = 0; i < stages.size(); ++i)
    all = deeper(all, add(layers.written[i], stages[i].kernel->reads(Direction::forward)));
  return all;
}

KernelsOfTiles kernels_of(const std::vector<DeviceWalk::Stage>& stages, const std::vector<int>& begins_with,
                          const Layers& layers) {
  KernelsOfTiles kernels{"step", begins_with, layers.read, {}};
  for (std::size_t i = 0; i < stages.size(); ++i)
    kernels.kernels.push_back({&stages[i].kernel->value(), stages[i].handed_on, layers.written[i]});
  return kernels;
}

/// What a kernel reads beyond walls of the states that the one before it hands on.
std::vector<KernelsOfTiles::BeyondWalls> beyond_walls(const DifferentiatedKernel& reader, const Grid& grid) {
  std::vector<KernelsOfTiles::BeyondWalls> all;
  const WallValues* const values = reader.walls();
  const std::vector<int> states = reader.states();
  for (std::size_t f = 0; values != nullptr && f < states.size(); ++f) {
    all.push_back({states[f], {}});
    for (int axis = 0; axis < 2; ++axis)
      for (int side = 0; side < 2; ++side) {
        const auto a = static_cast<std::size_t>(axis), s = static_cast<std::size_t>(side);
        const Wall& wall = values->walls()[f][a][s];
        all.back().walls[a][s] = {ghost_rule(wall.rule, s, grid.axes()[a].spacing()), wall.value.constant,
                                  values->symbol(f, axis, side)};
      }
  }
  return all;
}

void add_walls(KernelsOfTiles& kernels, const std::vector<DeviceWalk::Stage>& stages, const Grid& grid) {
  for (std::size_t a = 0; a < 2; ++a) kernels.has_walls[a] = !grid.axes()[a].periodic;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i)
    kernels.kernels[i].beyond_walls = beyond_walls(*stages[i + 1].kernel, grid);
}

/// Whether launches are what its steps take, and are gathered (Machine::batch), so that single steps cannot be timed.
bool is_small(const Grid& grid, std::int64_t fields) {
  const std::int64_t values = grid.interior().cells() * fields;
  return grid.communicator().size() == 1 && values < written_in_a_launch;
}

bool suits(const Grid& grid, const std::vector<DeviceWalk::Stage>& stages) {
  if (grid.machine().is_host() || grid.dimensions() != 2 || stages.size() < 2) return false;
  if (std::holds_alternative<walks::Never>(Wavefront::asked())) return false;
  return std::ranges::all_of(stages, [](const DeviceWalk::Stage& stage) {
    const Pass* const pass = stage.kernel->pass(Direction::forward);
    return pass != nullptr && pass->is_everywhere() && stage.kernel->value().sums.empty();
  });
}

}  // namespace

std::array<int, 3> DeviceWalk::layers(const std::vector<Stage>& stages, const std::vector<int>& begins_with) {
  const Layers layers = layers_of(stages);
  if (stages.size() < 2 || !emit_device_tiles(kernels_of(stages, begins_with, layers))) return {0, 0, 0};
  return ghosts_of(stages, layers);
}

std::array<int, 3> DeviceWalk::halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                    const std::array<int, 3>& layers) {
  if (axes.size() != 2 || std::holds_alternative<walks::Never>(Wavefront::asked())) return least;
  const std::array<int, 3> blocks = Grid::division(axes, least, ranks);
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].cells / blocks[a] < (is_asked() ? 1 : thick) * layers[a]) return least;
  return deeper(least, layers);
}

std::optional<DeviceWalk> DeviceWalk::make(const Tables& tables, const std::vector<Stage>& stages,
                                           const std::vector<int>& begins_with) {
  if (!suits(tables.grid(), stages)) return std::nullopt;
  const Layers layers = layers_of(stages);
  const std::array<int, 3> halo = tables.grid().layout().halo;
  if (deeper(halo, ghosts_of(stages, layers)) != halo) return std::nullopt;
  KernelsOfTiles kernels = kernels_of(stages, begins_with, layers);
  add_walls(kernels, stages, tables.grid());
  const std::optional<DeviceSource> source = emit_device_tiles(kernels);
  if (!source) return std::nullopt;
  return DeviceWalk(tables, stages, std::ssize(begins_with), *source, layers.read);
}

DeviceWalk::DeviceWalk(const Tables& tables, const std::vector<Stage>& stages, std::int64_t fields,
                       const DeviceSource& source, const std::array<int, 3>& layers)
    : grid_(&tables.grid()),
      is_fixed_(is_asked() || is_small(tables.grid(), fields)),
      library_(source, tables.grid().communicator(), tables.grid().machine()),
      pass_(stages.front().kernel->value_pass(tables.grid(), library_[0], layers)),
      tile_(source.kernels.front().tile),
      ways_(2) {}

void DeviceWalk::begin() {
  if (!tries_ways()) return;
  grid_->machine().finish();
  watch_ = Stopwatch();
}

void DeviceWalk::end() {
  if (!tries_ways()) return;
  grid_->machine().finish();
  ways_.took(grid_->communicator().max(watch_.seconds()));  // one way for all ranks: their messages differ
}

std::string DeviceWalk::describe() const {
  if (!tries_ways() && !is_chosen()) return "";
  return fmt::format("in one launch, each block over {} x {} cells{}", tile_[0], tile_[1],
                     tries_ways() ? ", if the first steps show that it is faster" : "");
}

}  // namespace hindsight
