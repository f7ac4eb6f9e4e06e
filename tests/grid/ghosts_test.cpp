// ranks: 1 2 3 4
// Every ghost is what the rules say of the global array, on any number of ranks; the transposed rules are transposes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "runtime/emulated/emulated_device.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"
#include "runtime/ordered_sum.hpp"
#include "solvers/grid/halo_exchange.hpp"

namespace hindsight {
namespace {

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}

double cell_value(std::int64_t i, std::int64_t j, std::int64_t k) {
  return std::sin(1.0 + static_cast<double>(i) + 0.37 * static_cast<double>(j) + 0.11 * static_cast<double>(k * k));
}

struct Domain {
  std::vector<Axis> axes;
  std::array<int, 3> depth{0, 0, 0};
  FieldWalls walls;
};

/// What a cell or ghost with these global indices must hold: axes are folded back from the last to the first, as
/// filling goes from the first to the last.
double expected(const Domain& s, Index3 at, int axis) {
  if (axis < 0) return cell_value(at[0], at[1], at[2]);
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t n = s.axes[a].cells;
  if (at[a] >= 0 && at[a] < n) return expected(s, at, axis - 1);
  Index3 inside = at;
  if (s.axes[a].periodic) {
    inside[a] = (at[a] % n + n) % n;
    return expected(s, inside, axis - 1);
  }
  const std::size_t side = at[a] < 0 ? 0 : 1;
  const std::int64_t m = side == 0 ? -1 - at[a] : at[a] - n;
  inside[a] = side == 0 ? m : n - 1 - m;
  const Wall& wall = s.walls[a][side];
  const double mirror = expected(s, inside, axis - 1), e = wall.value.constant;
  if (wall.rule == WallRule::zero) return 0.0;
  if (wall.rule == WallRule::value) return 2 * e - mirror;
  return mirror + (side == 0 ? -1 : 1) * static_cast<double>(2 * m + 1) * s.axes[a].spacing() * e;
}

struct Array {
  explicit Array(const Grid& g) : grid(g), memory(static_cast<std::size_t>(g.layout().size), 0.0) {}
  double* cells() { return memory.data() + grid.layout().origin; }
  double& at(std::int64_t i, std::int64_t j, std::int64_t k) {
    return memory[static_cast<std::size_t>(grid.layout().at(i, j, k))];
  }
  const Grid& grid;
  std::vector<double> memory;
};

template <class Visit>
void for_each(const Box& box, Visit visit) {
  for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) visit(i, j, k);
}

Box grown(const Grid& grid, const std::array<int, 3>& by) {
  Box box = grid.interior();
  for (std::size_t a = 0; a < 3; ++a) {
    box.lo[a] -= by[a];
    box.hi[a] += by[a];
  }
  return box;
}

void check_ghosts(const Domain& s, bool corners, Machine& machine = Machine::host(),
                  Element element = Element::float64) {
  const Grid grid(s.axes, world(), s.depth, machine, element);
  Array field(grid);
  const Index3& first = grid.first();
  for_each(grid.interior(),
           [&](auto i, auto j, auto k) { field.at(i, j, k) = cell_value(first[0] + i, first[1] + j, first[2] + k); });
  const Memory wide(grid.layout().size, machine), copied(grid.layout().size, machine);
  const Memory there(doubles_of(element, grid.layout().size), machine);
  machine.copy(wide.data(), field.memory.data(), wide.size());
  const std::vector<CellArray> cells{{at_element(there.data(), grid.layout().origin, element), element}};
  const Box all = grown(grid, s.depth);
  const CellBlock as_doubles = grid.block(all, CellArray(wide.data() + grid.layout().origin)),
                  own = grid.block(all, cells[0]);
  grid.operations().copy(all.extent(), as_doubles, own);
  HaloExchange exchange(grid, 1, s.depth, corners, element);
  for (int repeat = 0; repeat < 2; ++repeat) {
    exchange.start(cells, {s.walls});
    machine.copy(copied.data(), there.data(), there.size());  // stands for the kernels in between
    exchange.finish(cells, {s.walls});
    // One exchange with other ranks waits for none of what a device was asked for in between.
    const int split = grid.is_split(0) + grid.is_split(1) + grid.is_split(2);
    double seen = 0.0;
    if (machine.is_host() || repeat > 0 || split != 1 || element != Element::float64) continue;
    grid.link().copy(&seen, copied.data() + grid.layout().origin, 1);
    EXPECT_EQ(seen, 0.0);
  }
  grid.operations().copy(all.extent(), own, as_doubles);
  machine.copy(field.memory.data(), wide.data(), wide.size());
  const double rounding = element == Element::float64 ? 1e-14 : 1e-4;
  int wrong = 0;
  for_each(grown(grid, s.depth), [&](auto i, auto j, auto k) {
    const bool is_corner = (j < 0 || j >= grid.cells()[1]) && (k < 0 || k >= grid.cells()[2]);
    if (is_corner && !corners) return;
    const double e = expected(s, {first[0] + i, first[1] + j, first[2] + k}, grid.dimensions() - 1);
    if (std::fabs(field.at(i, j, k) - e) > rounding) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

Wall wall(WallRule rule, double value) {
  return {rule, {value, nullptr, 0, 0}};
}

std::vector<Domain> domains() {
  std::vector<Domain> all;
  const std::array<Wall, 2> rules[] = {{wall(WallRule::value, 0.3), wall(WallRule::slope, -0.2)},
                                       {wall(WallRule::slope, 0.7), wall(WallRule::zero, 0)}};
  for (const int dimensions : {1, 2, 3})
    for (int periodic = 0; periodic < (1 << dimensions); ++periodic)
      for (const int depth : {1, 2, 4}) {
        Domain s;
        const std::int64_t cells[] = {dimensions == 1 ? 31 : 9, 29, 30};
        for (int a = 0; a < dimensions; ++a) {
          const bool wraps = ((periodic >> a) & 1) != 0;
          s.axes.push_back({std::string(1, "xyz"[a]), cells[a], -1.0, 2.0 + a, wraps});
          s.depth[static_cast<std::size_t>(a)] = depth;
          s.walls[static_cast<std::size_t>(a)] = rules[a % 2];
        }
        all.push_back(s);
      }
  return all;
}

TEST(Ghosts, AreWhatTheRulesSay) {
  for (const Domain& s : domains())
    for (const bool corners : {true, false}) check_ghosts(s, corners);
}

TEST(Ghosts, OfSinglesAreTheSame) {
  const auto device = emulated::open_machine();
  for (const Domain& s : domains())
    for (const bool corners : {true, false}) {
      check_ghosts(s, corners, Machine::host(), Element::float32);
      check_ghosts(s, corners, *device, Element::float32);
    }
}

/// Through the host's memory, and from the device's own.
TEST(Ghosts, OfDevicesAreTheSame) {
  for (const bool is_open : {false, true}) {
    const auto device = emulated::open_machine({.is_open_to_mpi = is_open});
    for (const Domain& s : domains())
      for (const bool corners : {true, false}) check_ghosts(s, corners, *device);
  }
}

TEST(Ghosts, OverlapLeavesTheSameGhosts) {
  for (const Domain& s : domains()) {
    const Grid grid(s.axes, world(), s.depth);
    Array field(grid), ones(grid);
    for_each(grid.interior(), [&](auto i, auto j, auto k) { field.at(i, j, k) = cell_value(i, j, k); });
    HaloExchange exchange(grid, 1, s.depth, true);
    const std::array<int, 3> reach = s.depth;
    exchange.start({CellArray(field.cells())}, {s.walls});
    const Box ready = exchange.ready(reach);
    std::vector<double> early;
    const auto star = [&](auto i, auto j, auto k) {
      double sum = 0;
      for (std::size_t a = 0; a < s.axes.size(); ++a)
        for (int m = -reach[a]; m <= reach[a]; ++m)
          sum += field.at(i + (a == 0 ? m : 0), j + (a == 1 ? m : 0), k + (a == 2 ? m : 0));
      return sum;
    };
    for_each(ready, [&](auto i, auto j, auto k) { early.push_back(star(i, j, k)); });
    exchange.finish({CellArray(field.cells())}, {s.walls});
    std::size_t n = 0;
    bool same = true;
    for_each(ready, [&](auto i, auto j, auto k) { same = same && early[n++] == star(i, j, k); });
    EXPECT_TRUE(same);
    std::int64_t cells = ready.cells();
    for (const Box& box : shell(grid.interior(), ready)) cells += box.cells();
    EXPECT_EQ(cells, grid.interior().cells());
  }
}

TEST(Ghosts, TransposedWallsAreTheTranspose) {
  for (const Domain& s : domains()) {
    const Grid grid(s.axes, Communicator(MPI_COMM_SELF), s.depth);
    for (int axis = 0; axis < grid.dimensions(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (s.axes[a].periodic) continue;
      std::array<int, 3> tangential{0, 0, 0};
      for (std::size_t lower = 0; lower < a; ++lower) tangential[lower] = s.depth[lower];
      Array u(grid), w(grid);
      for_each(grown(grid, s.depth), [&](auto i, auto j, auto k) {
        u.at(i, j, k) = cell_value(i, j, k);
        w.at(i, j, k) = cell_value(k + 3, i, j + 1);
      });
      // <w, fill(u)> = <transpose(w), u> + <wall_bar, E> on everything that filling touches.
      Box box = grid.interior();
      for (std::size_t t = 0; t < 3; ++t) {
        box.lo[t] -= t == a ? s.depth[t] : tangential[t];
        box.hi[t] += t == a ? s.depth[t] : tangential[t];
      }
      Array filled = u;
      const Box over = grid.with_ghosts(tangential);
      fill_walls(grid, axis, s.depth[a], over, s.walls, CellArray(filled.cells()));
      double left = 0, right = 0;
      for_each(box, [&](auto i, auto j, auto k) { left += w.at(i, j, k) * filled.at(i, j, k); });
      const WallLayout layout = wall_layout(grid, axis);
      std::vector<double> lower(static_cast<std::size_t>(layout.size)), upper = lower;
      transpose_walls(grid, axis, s.depth[a], over, s.walls, w.cells(), {lower.data(), upper.data()});
      for_each(box, [&](auto i, auto j, auto k) { right += w.at(i, j, k) * u.at(i, j, k); });
      for (const double e : lower) right += e * s.walls[a][0].value.constant;
      for (const double e : upper) right += e * s.walls[a][1].value.constant;
      EXPECT_NEAR(left, right, 1e-12 * (std::fabs(left) + 1));
    }
  }
}

TEST(Grid, BlocksCoverTheDomainOnce) {
  for (const Domain& s : domains()) {
    const Grid grid(s.axes, world(), s.depth);
    std::vector<double> count(static_cast<std::size_t>(grid.total_cells()), 0.0);
    for_each(grid.interior(), [&](auto i, auto j, auto k) {
      count[static_cast<std::size_t>(grid.first()[0] + i +
                                     grid.global_cells()[0] *
                                         (grid.first()[1] + j + grid.global_cells()[1] * (grid.first()[2] + k)))] += 1;
    });
    world().sum(count);
    for (const double c : count) ASSERT_EQ(c, 1.0);
    EXPECT_TRUE(grid.dimensions() == 1 || grid.ranks_per_axis()[0] == 1);
  }
}

TEST(Grid, TooManyRanksOrTooFewCellsAreRefused) {
  EXPECT_THROW(Grid({{"x", 3, 0, 1, true}}, world(), {4, 0, 0}), InputError);
  if (world().size() > 2) {
    EXPECT_THROW(Grid({{"x", 4, 0, 1, true}}, world(), {2, 0, 0}), InputError);
  }
}

TEST(OrderedSum, DoesNotShowTheRanks) {
  const Grid grid({{"x", 8, 0, 1, true}, {"y", 37, 0, 1, true}}, world(), {1, 1, 0});
  std::vector<double> all(37), mine;
  for (std::size_t j = 0; j < 37; ++j) all[j] = std::exp(3 * std::sin(static_cast<double>(j)));
  for (std::int64_t j = 0; j < grid.local_rows(); ++j)
    mine.push_back(all[static_cast<std::size_t>(grid.global_row(j))]);
  EXPECT_EQ(grid_sum(grid, mine.data()), pairwise_sum(all.data(), 37));
}

}  // namespace
}  // namespace hindsight
