#include "solvers/steppers/wall_values.hpp"

#include <fmt/format.h>

namespace hindsight {

WallExpressions wall_expressions(const Model& model, int stage, const std::vector<Seed>* seeds) {
  WallExpressions values(model.walls.size());
  for (std::size_t f = 0; f < model.walls.size(); ++f)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t s = 0; s < 2; ++s) {
        if (!model.has_walls[a]) continue;
        Expr value = at_stage(model, {model.walls[f][a][s].value}, std::to_string(stage))[0];
        values[f][a][s] = seeds ? tangent({value}, *seeds)[0] : value;
      }
  return values;
}

WallValues::WallValues(const Model& model, const WallExpressions& values, const std::string& prefix,
                       std::vector<KernelSpec>& kernels)
    : model_(model) {
  for (std::size_t f = 0; f < values.size(); ++f) {
    FieldWalls walls;
    for (int axis = 0; axis < model.dimensions; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (!model.has_walls[a]) continue;
      for (int side = 0; side < 2; ++side) {
        const auto s = static_cast<std::size_t>(side);
        const Expr value = values[f][a][s];
        walls[a][s].rule = model.walls[f][a][s].rule;
        if (value.is_constant()) {
          walls[a][s].value.constant = value.node().value;
          continue;
        }
        const std::string name = fmt::format("{}wall_{}_{}_{}", prefix, model.fields[f], "xyz"[axis], side);
        Face face{f, axis, side, model.graph->field(name).node().symbol, kernels.size(), {}};
        model.graph->set_kind(face.symbol, {});
        kernels.push_back({fmt::format("w{}", kernels.size()), {{name, value}}, {}});
        faces_.push_back(std::move(face));
      }
    }
    walls_.push_back(walls);
  }
}

void WallValues::prepare(const KernelLibrary& library, Tables& tables) {
  library_ = &library;
  for (Face& face : faces_) {
    if (!tables.grid().is_wall(face.axis, face.side)) continue;
    const WallLayout layout = wall_layout(tables.grid(), face.axis);
    face.memory = Memory(layout.size, tables.grid().machine());
    tables.bind(face.symbol, face.memory.data() + layout.origin);
    walls_[face.field][static_cast<std::size_t>(face.axis)][static_cast<std::size_t>(face.side)].value = {
        0.0, face.memory.data(), layout.origin, layout.stride};
  }
}

int WallValues::symbol(std::size_t field, int axis, int side) const {
  for (const Face& face : faces_)
    if (face.field == field && face.axis == axis && face.side == side) return face.symbol;
  return -1;
}

void WallValues::evaluate(Tables& tables) const {
  for (const Face& face : faces_) launch_on_wall(tables, (*library_)[face.kernel], face.axis, face.side);
}

void launch_on_wall(const Tables& tables, const Kernel& kernel, int axis, int side) {
  const Grid& grid = tables.grid();
  if (!grid.is_wall(axis, side)) return;
  const auto a = static_cast<std::size_t>(axis);
  Box box = grid.interior();
  for (std::size_t t = 0; t < 3; ++t) {
    box.lo[t] = t == a ? 0 : box.lo[t] - grid.layout().halo[t];
    box.hi[t] = t == a ? 1 : box.hi[t] + grid.layout().halo[t];
  }
  Launch launch = tables.launch_block(box);
  const std::int64_t stride = wall_layout(grid, axis).stride;
  const ArrayStrides strides{axis == 0 ? 1 : axis == 1 ? 0 : stride, axis == 2 ? 0 : stride};
  launch.strides = &strides;
  std::array<const double*, 3> coordinates{launch.coordinates[0], launch.coordinates[1], launch.coordinates[2]};
  coordinates[a] = tables.wall_coordinate(axis, side);
  launch.coordinates = coordinates.data();
  kernel(launch);
}

std::vector<FieldWalls> plain_walls(std::size_t fields, WallRule rule) {
  FieldWalls walls;
  for (auto& axis : walls)
    for (Wall& wall : axis) wall.rule = rule;
  return std::vector<FieldWalls>(fields, walls);
}

}  // namespace hindsight
