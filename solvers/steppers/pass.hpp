// One pass over the grid: fill ghosts, run a kernel, the exchange hidden behind the interior.
#pragma once

#include <array>
#include <vector>

#include "solvers/grid/halo_exchange.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Arrays whose ghosts a pass needs.
struct GhostGroup {
  std::vector<int> symbols;
  std::array<int, 3> reach{0, 0, 0};  ///< how far the kernel reads
  std::array<int, 3> depth{0, 0, 0};  ///< how deep to fill: at least reach
  bool corners = false;
  const std::vector<FieldWalls>* walls = nullptr;  ///< one per symbol; must outlive the pass
  Element element = Element::float64;              ///< of all arrays
};

/// These cells without those that lie less than `depth` cells from a wall of this rank.
Box away_from_walls(const Grid& grid, const std::array<int, 3>& depth, Box cells);

/// What computes the cells less than `depth` from a wall in place of a pass's kernel; nothing without.
struct BorderKernel {
  Kernel kernel = {};
  std::array<int, 3> depth{0, 0, 0};
};

class Pass {
 public:
  /// Groups without depth are dropped. @param kernel an empty one only fills ghosts. Collective.
  Pass(const Grid& grid, const Kernel& kernel, std::vector<GhostGroup> groups, BorderKernel border = {});
  /// Kernels run in these cells alone from now on (boxes that may reach beyond the grid); ghosts stay as they are.
  void restrict_to(const std::vector<Box>& boxes);
  /// Allocates nothing.
  void run(const Tables& tables);
  /// The same of a kernel that repeats and needs no ghosts (Launch::times).
  void run(const Tables& tables, std::int64_t times, std::int64_t trail_step);
  /// Only fills the ghosts: at once, or in two calls, so that messages of other passes can be under way in between.
  void fill_ghosts(const Tables& tables);
  void start_ghosts(const Tables& tables);
  void finish_ghosts();

  // In parts, for walks (wavefront.hpp).
  /// Whether it runs everywhere.
  bool is_everywhere() const { return !is_restricted_; }
  /// How far the kernel reads along each axis, and how deep ghosts are filled.
  std::array<int, 3> reach() const;
  std::array<int, 3> depth() const;
  /// From now on ghosts are filled at least so deep, corners included.
  void deepen(const std::array<int, 3>& depth);
  /// What fill_rows() and fill_sides() fill, until the next time.
  void bind(const Tables& tables);
  /// The kernels in these cells, whose ghosts are there.
  void run_in(const Tables& tables, const Box& cells) const;
  /// The same of ghost cells, for later passes: what it adds to sums is lost, and what it adds to arrays that sum up
  /// cell by cell is there in ghosts, which nobody reads.
  void run_beyond(const Tables& tables, const Box& cells) const;
  // See HaloExchange.
  void fill_rows(const Box& cells) const;
  void fill_sides(const Box& cells, Sides sides) const;

 private:
  template <class Launch>
  void each_kernel(const Box& cells, Launch launch) const;
  Launch& block(const Tables& tables);
  void place_ready();
  struct Exchange {
    GhostGroup group;
    HaloExchange halo;
    std::vector<CellArray> cells;
  };
  const Grid* grid_;
  Kernel kernel_, border_kernel_;
  std::array<int, 3> border_depth_;
  // Without exchanges the launch block never changes; it is kept, because a step of a small ODE takes nanoseconds.
  const Tables* block_of_ = nullptr;
  Launch block_{};
  std::vector<Exchange> exchanges_;
  Box interior_, ready_;
  std::vector<Box> rest_, border_;
  bool is_restricted_ = false;
  std::vector<Box> ready_boxes_;  // in place of ready_, where it is
};

/// The part of a gather (derive.hpp) that walls add. Ghost cells feed interior cells through the wall rules; so the
/// gather is evaluated on the ghosts too (in rings), folded back by the transposed rules, and added to the outputs.
class WallGather {
 public:
  struct Target {
    int ghost = 0;  ///< symbol of a work array of doubles: its ghosts are zero except while this runs
    const FieldWalls* walls = nullptr;                 ///< rules of the array that the gather belongs to
    std::array<std::array<double*, 2>, 3> wall_bar{};  ///< where derivatives with respect to wall values add up
  };
  /// Writes every target's gather beyond a wall.
  struct Ring {
    int axis = 0, side = 0;
    Kernel kernel;
  };
  /// @param rings of walls beyond which there is something to gather; @param add adds the targets to the outputs;
  /// empty: only derivatives with respect to wall values are wanted. @param depth of the rings on axes with walls.
  WallGather(const Grid& grid, const std::vector<Ring>& rings, const Kernel& add, std::array<int, 3> depth,
             std::vector<Target> targets);
  /// The rings' kernels run in these cells alone from now on (boxes that may reach beyond the grid): in others they
  /// find nothing.
  void restrict_to(const std::vector<Box>& boxes);
  void run(const Tables& tables) const { run_in(tables, grid_.interior()); }
  /// What walls add in these cells, for walks: where some of them lie less than the depth of the rings from a wall,
  /// they go on to it. Where there are no derivatives with respect to wall values, they may reach beyond the rank's
  /// own.
  void run_in(const Tables& tables, const Box& cells) const;

 private:
  bool is_met(std::size_t axis, std::size_t side, const Box& cells) const;
  Box with_corners(std::size_t axis, Box cells) const;
  void run_ring(const Tables& tables, const Ring& ring, const Box& cells) const;
  template <class Visit>
  void each_edge(const Box& cells, Visit visit) const;

  const Grid& grid_;
  Kernel add_kernel_;
  std::array<int, 3> depth_;
  std::vector<Target> targets_;
  std::vector<Ring> rings_;
  bool is_restricted_ = false;
  std::vector<Box> boxes_;  // where it is
};

}  // namespace hindsight
