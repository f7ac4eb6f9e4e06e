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

Box away_from_walls(const Grid& grid, const std::array<int, 3>& depth, Box cells) {
  for (int axis = 0; axis < grid.dimensions(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (grid.is_wall(axis, 0)) cells.lo[a] = std::min(std::max<std::int64_t>(cells.lo[a], depth[a]), cells.hi[a]);
    if (grid.is_wall(axis, 1)) cells.hi[a] = std::max(cells.lo[a], std::min(cells.hi[a], grid.cells()[a] - depth[a]));
  }
  return cells;
}

Pass::Pass(const Grid& grid, const Kernel& kernel, std::vector<GhostGroup> groups, BorderKernel border)
    : grid_(&grid),
      kernel_(kernel),
      border_kernel_(border.kernel),
      border_depth_(border.depth),
      interior_(border.kernel ? away_from_walls(grid, border.depth, grid.interior()) : grid.interior()),
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

void Pass::start_ghosts(const Tables& tables) {
  bind(tables);
  for (Exchange& e : exchanges_) e.halo.start(e.cells, *e.group.walls);
}

void Pass::fill_ghosts(const Tables& tables) {
  start_ghosts(tables);
  finish_ghosts();
}

void Pass::finish_ghosts() {
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
  start_ghosts(tables);
  if (!is_restricted_) tables.launch(kernel_, ready_);
  for (const Box& box : ready_boxes_) tables.launch(kernel_, box);
  finish_ghosts();
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

/// Calls launch(kernel, box) in the order of run().
template <class Launch>
void Pass::each_kernel(const Box& cells, Launch launch) const {
  if (!border_kernel_) return launch(kernel_, cells);
  const Box inner = away_from_walls(*grid_, border_depth_, cells);
  launch(kernel_, inner);
  for_shell(cells, inner, [&](const Box& box) { launch(border_kernel_, box); });
}

void Pass::run_in(const Tables& tables, const Box& cells) const {
  each_kernel(cells, [&](const Kernel& kernel, const Box& box) { tables.launch(kernel, box); });
}

void Pass::run_beyond(const Tables& tables, const Box& cells) const {
  each_kernel(cells, [&](const Kernel& kernel, const Box& box) { tables.launch_beyond(kernel, box); });
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
  for (std::size_t a = 0; a < 3; ++a)
    if (static_cast<int>(a) >= grid.dimensions() || grid.axes()[a].periodic) depth_[a] = 0;
  for (const Ring& ring : rings)
    if (depth_[static_cast<std::size_t>(ring.axis)] > 0 && grid.is_wall(ring.axis, ring.side)) rings_.push_back(ring);
}

void WallGather::restrict_to(const std::vector<Box>& boxes) {
  is_restricted_ = true;
  boxes_ = boxes;
}

/// Whether these cells lie beside a wall of this rank.
bool WallGather::is_met(std::size_t axis, std::size_t side, const Box& cells) const {
  if (depth_[axis] == 0 || !grid_.is_wall(static_cast<int>(axis), static_cast<int>(side))) return false;
  return side == 0 ? cells.lo[axis] == 0 : cells.hi[axis] == grid_.cells()[axis];
}

/// These cells with those beyond the walls of lower axes than this one: corners belong to the highest of their axes.
Box WallGather::with_corners(std::size_t axis, Box cells) const {
  for (std::size_t lower = 0; lower < axis; ++lower) {
    const bool below = is_met(lower, 0, cells), above = is_met(lower, 1, cells);
    if (below) cells.lo[lower] -= depth_[lower];
    if (above) cells.hi[lower] += depth_[lower];
  }
  return cells;
}

void WallGather::run_ring(const Tables& tables, const Ring& ring, const Box& cells) const {
  const auto a = static_cast<std::size_t>(ring.axis);
  if (!is_met(a, static_cast<std::size_t>(ring.side), cells)) return;
  Box box = with_corners(a, cells);
  box.lo[a] = ring.side == 0 ? cells.lo[a] - depth_[a] : cells.hi[a];
  box.hi[a] = box.lo[a] + depth_[a];
  if (!is_restricted_) return tables.launch(ring.kernel, box);
  for (const Box& other : boxes_) tables.launch(ring.kernel, common(box, other));
}

/// Calls visit(box) for the cells that rings feed.
template <class Visit>
void WallGather::each_edge(const Box& cells, Visit visit) const {
  Box inner = cells;
  for (const Ring& ring : rings_) {
    const auto a = static_cast<std::size_t>(ring.axis);
    if (!is_met(a, static_cast<std::size_t>(ring.side), cells)) continue;
    if (ring.side == 0) {
      inner.lo[a] += depth_[a];
    } else {
      inner.hi[a] -= depth_[a];
    }
    inner.lo[a] = std::min(inner.lo[a], cells.hi[a]);
    inner.hi[a] = std::max(inner.lo[a], inner.hi[a]);
  }
  for_shell(cells, inner, visit);
}

void WallGather::run_in(const Tables& tables, const Box& cells) const {
  if (rings_.empty()) return;
  for (const Ring& ring : rings_) run_ring(tables, ring, cells);
  for (const Target& target : targets_) {
    double* const ghosts = tables.field(target.ghost);
    each_edge(cells,
              [&](const Box& box) { grid_.operations().zero(box.extent(), grid_.block(box, CellArray(ghosts))); });
    for (std::size_t a = static_cast<std::size_t>(grid_.dimensions()); a-- > 0;)
      if (const Sides met{is_met(a, 0, cells), is_met(a, 1, cells)}; met[0] || met[1])
        transpose_walls(grid_, static_cast<int>(a), depth_[a], with_corners(a, cells), *target.walls, ghosts,
                        target.wall_bar[a], met);
  }
  if (add_kernel_) each_edge(cells, [&](const Box& box) { tables.launch(add_kernel_, box); });
}

}  // namespace hindsight
