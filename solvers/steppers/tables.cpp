#include "solvers/steppers/tables.hpp"

namespace hindsight {

Tables::Tables(const Graph& graph, const Grid& grid, int sums, Backend backend)
    : grid_(grid),
      backend_(backend),
      fields_(graph.fields().size(), nullptr),
      scalars_(graph.scalars().size(), 0.0),
      sums_(static_cast<std::size_t>(sums), nullptr) {
  for (int axis = 0; axis < 3; ++axis) coordinates_[static_cast<std::size_t>(axis)] = grid.coordinates(axis);
  if (graph.noises().empty()) return;
  std::vector<NoiseField> fields;
  for (const Noise& noise : graph.noises()) {
    allocate({noise.symbol});
    fields.push_back({noise, field(noise.symbol)});
  }
  noise_ = std::make_unique<NoiseFields>(std::move(fields), grid);
}

void Tables::allocate(const std::vector<int>& symbols) {
  if (symbols.empty()) return;
  owned_.emplace_back(state_doubles(grid_, symbols.size()));
  bytes_ += owned_.back().size() * static_cast<std::int64_t>(sizeof(double));
  bind_state(symbols, owned_.back().data());
}

Launch Tables::launch_block(const Box& box) const {
  const Layout& layout = grid_.layout();
  const bool rows_are_cells = grid_.dimensions() <= 1;
  return {fields_.data(),
          scalars_.data(),
          coordinates_.data(),
          sums_.data(),
          {box.lo[0], box.lo[1], box.lo[2]},
          {box.hi[0], box.hi[1], box.hi[2]},
          layout.stride_y,
          layout.stride_z,
          rows_are_cells ? 0 : 1,
          rows_are_cells ? 0 : grid_.cells()[1]};
}

void Tables::launch(const Kernel& kernel, const Box& box) const {
  if (box.is_empty()) return;
  kernel(launch_block(box));
}

std::int64_t state_doubles(const Grid& grid, std::size_t fields) {
  return grid.layout().field_stride * static_cast<std::int64_t>(fields);
}

}  // namespace hindsight
