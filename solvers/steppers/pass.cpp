#include "solvers/steppers/pass.hpp"

#include <algorithm>

namespace hindsight {

namespace {

/// What some boxes have in common with others.
std::vector<Box> common(const std::vector<Box>& boxes, const std::vector<Box>& others) {
  std::vector<Box> all;
  for (const Box& one : boxes)
    for (const Box& other : others)
      if (const Box box = common(one, other); !box.is_empty()) all.push_back(box);
  return all;
}

}  // namespace

Box away_from_walls(const Grid& grid, const std::array<int, 3>& depth) {
  Box box = grid.interior();
  for (int axis = 0; axis < grid.dimensions(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (grid.is_wall(axis, 0)) box.lo[a] += depth[a];
    if (grid.is_wall(axis, 1)) box.hi[a] = std::max(box.lo[a], box.hi[a] - depth[a]);
  }
  return box;
}

Pass::Pass(const Grid& grid, const Kernel& kernel, std::vector<GhostGroup> groups, BorderKernel border)
    : grid_(&grid),
      kernel_(kernel),
      border_kernel_(border.kernel),
      interior_(border.kernel ? away_from_walls(grid, border.depth) : grid.interior()),
      border_(border.kernel ? shell(grid.interior(), interior_) : std::vector<Box>()) {
  if (!kernel) interior_ = Box{{0, 0, 0}, {0, 0, 0}};
  for (GhostGroup& group : groups) {
    if (group.symbols.empty() || group.depth == std::array<int, 3>{0, 0, 0}) continue;
    HaloExchange halo(grid, static_cast<int>(group.symbols.size()), group.depth, group.corners, group.element);
    std::vector<CellArray> cells(group.symbols.size(), {nullptr, group.element});
    exchanges_.push_back({std::move(group), std::move(halo), std::move(cells)});
  }
  place_ready();
}

/// What may be computed before messages have come.
void Pass::place_ready() {
  ready_ = interior_;
  for (const Exchange& e : exchanges_) {
    const Box ready = e.halo.ready(e.group.reach);
    for (std::size_t a = 0; a < 3; ++a) {
      ready_.lo[a] = std::max(ready_.lo[a], ready.lo[a]);
      ready_.hi[a] = std::max(ready_.lo[a], std::min(ready_.hi[a], ready.hi[a]));
    }
  }
  rest_ = shell(interior_, ready_);
}

void Pass::deepen(const std::array<int, 3>& depth) {
  for (Exchange& e : exchanges_) {
    GhostGroup& group = e.group;
    for (std::size_t a = 0; a < 3; ++a) group.depth[a] = std::max(group.depth[a], depth[a]);
    group.corners = true;
    e.halo = HaloExchange(*grid_, static_cast<int>(group.symbols.size()), group.depth, group.corners, group.element);
  }
}

void Pass::restrict_to(const std::vector<Box>& boxes) {
  is_restricted_ = true;
  ready_boxes_ = common({ready_}, boxes);
  rest_ = common(rest_, boxes);
  border_ = common(border_, boxes);
}

void Pass::bind(const Tables& tables) {
  for (Exchange& e : exchanges_)
    for (std::size_t i = 0; i < e.cells.size(); ++i) e.cells[i].cell = tables.field(e.group.symbols[i]);
}

void Pass::start(const Tables& tables) {
  bind(tables);
  for (Exchange& e : exchanges_) e.halo.start(e.cells, *e.group.walls);
}

void Pass::fill_ghosts(const Tables& tables) {
  start(tables);
  finish();
}

void Pass::finish() {
  for (Exchange& e : exchanges_) e.halo.send();
  for (Exchange& e : exchanges_) e.halo.finish(e.cells, *e.group.walls);
}

Launch& Pass::block(const Tables& tables) {
  if (block_of_ != &tables) {
    block_ = tables.launch_block(ready_);
    block_of_ = &tables;
  }
  return block_;
}

void Pass::run(const Tables& tables, std::int64_t times, std::int64_t trail_step) {
  Launch& block = this->block(tables);
  block.times = times;
  block.trail_step = trail_step;
  if (!ready_.is_empty()) kernel_(block);
}

void Pass::run(const Tables& tables) {
  if (exchanges_.empty() && border_.empty() && !is_restricted_) return run(tables, 1, 0);
  start(tables);
  if (!is_restricted_) tables.launch(kernel_, ready_);
  for (const Box& box : ready_boxes_) tables.launch(kernel_, box);
  finish();
  for (const Box& box : rest_) tables.launch(kernel_, box);
  for (const Box& box : border_) tables.launch(border_kernel_, box);
}

std::array<int, 3> Pass::reach() const {
  std::array<int, 3> reach{0, 0, 0};
  for (const Exchange& e : exchanges_)
    for (std::size_t a = 0; a < 3; ++a) reach[a] = std::max(reach[a], e.group.reach[a]);
  return reach;
}

std::array<int, 3> Pass::depth() const {
  std::array<int, 3> depth{0, 0, 0};
  for (const Exchange& e : exchanges_)
    for (std::size_t a = 0; a < 3; ++a) depth[a] = std::max(depth[a], e.group.depth[a]);
  return depth;
}

void Pass::fill_rows(const Box& cells) const {
  for (const Exchange& e : exchanges_) e.halo.fill_rows(e.cells, *e.group.walls, cells);
}

void Pass::fill_sides(const Box& cells, Sides sides) const {
  for (const Exchange& e : exchanges_) e.halo.fill_sides(e.cells, *e.group.walls, cells, sides);
}

WallGather::WallGather(const Grid& grid, const std::vector<Ring>& rings, const Kernel& add, std::array<int, 3> depth,
                       std::vector<Target> targets)
    : grid_(grid), add_kernel_(add), depth_(depth), targets_(std::move(targets)) {
  for (int axis = 0; axis < grid.dimensions(); ++axis)
    if (grid.axes()[static_cast<std::size_t>(axis)].periodic) depth_[static_cast<std::size_t>(axis)] = 0;
  Box inner = grid.interior();  // what no ring feeds
  for (const Ring& ring : rings) {
    const auto a = static_cast<std::size_t>(ring.axis);
    if (depth_[a] == 0 || !grid.is_wall(ring.axis, ring.side)) continue;
    Box box = grid.interior();
    for (std::size_t lower = 0; lower < a; ++lower) {  // corners belong to the higher axis
      const auto axis = static_cast<int>(lower);
      if (grid.is_wall(axis, 0)) box.lo[lower] -= depth_[lower];
      if (grid.is_wall(axis, 1)) box.hi[lower] += depth_[lower];
    }
    const std::int64_t wall = ring.side == 0 ? box.lo[a] : box.hi[a];
    box.lo[a] = ring.side == 0 ? wall - depth_[a] : wall;
    box.hi[a] = ring.side == 0 ? wall : wall + depth_[a];
    if (!box.is_empty()) rings_.push_back({ring.kernel, box});
    if (ring.side == 0) {
      inner.lo[a] += depth_[a];
    } else {
      inner.hi[a] -= depth_[a];
    }
    inner.hi[a] = std::max(inner.lo[a], inner.hi[a]);
  }
  edge_ = shell(grid.interior(), inner);
}

void WallGather::restrict_to(const std::vector<Box>& boxes) {
  std::vector<RingBox> all;
  for (const RingBox& ring : rings_)
    for (const Box& box : common({ring.box}, boxes)) all.push_back({ring.kernel, box});
  rings_ = std::move(all);
}

void WallGather::run(const Tables& tables) const {
  if (rings_.empty()) return;
  for (const RingBox& ring : rings_) tables.launch(ring.kernel, ring.box);
  for (const Target& target : targets_) {
    double* const cells = tables.field(target.ghost);
    for (const Box& box : edge_) grid_.operations().zero(box.extent(), grid_.block(box, CellArray(cells)));
    for (int axis = grid_.dimensions(); axis-- > 0;) {
      const auto a = static_cast<std::size_t>(axis);
      std::array<int, 3> tangential{0, 0, 0};
      for (std::size_t lower = 0; lower < a; ++lower) tangential[lower] = depth_[lower];
      const Box over = grid_.with_ghosts(tangential);
      if (depth_[a] > 0) transpose_walls(grid_, axis, depth_[a], over, *target.walls, cells, target.wall_bar[a]);
    }
  }
  for (const Box& box : edge_)
    if (add_kernel_) tables.launch(add_kernel_, box);
}

}  // namespace hindsight
