// Fills the ghosts of fields: wraps periodic axes, exchanges with neighbouring ranks, applies wall rules.
#pragma once

#include <memory>
#include <vector>

#include "solvers/grid/boundary.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// One exchange: a number of fields, a depth per axis. Buffers and requests are made once; start/finish allocate
/// nothing. Non-blocking: between start() and finish() the cells of ready() may be computed. A device packs and
/// unpacks; what it packed goes over the link and through MPI beside the kernels that were asked for in between, from
/// its own memory where MPI takes that (Machine::is_open_to_mpi), else through page-locked memory. With a second split
/// axis and corners, the second message waits for these kernels.
///
/// Ghost corners: x ghosts are filled before rows travel, so (x,y) and (x,z) corners are always right after finish();
/// (y,z) corners in 3D only with `corners`, which exchanges y before z.
/// Traffic: 2*depth rows (planes) per split axis and field read, sent, received and written, once.
class HaloExchange {
 public:
  /// @param depth ghost layers per axis, at most the grid's halo. @param element of all fields.
  HaloExchange(const Grid& grid, int fields, std::array<int, 3> depth, bool corners,
               Element element = Element::float64);
  ~HaloExchange();
  HaloExchange(HaloExchange&&) noexcept;
  HaloExchange& operator=(HaloExchange&&) noexcept;

  /// @param fields the same ones go to finish(). @param walls one per field.
  /// Fills the ghosts of axes before the first that is split, and begins its exchange; without corners, that of all.
  void start(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls);
  /// A device's messages leave when it has packed them (a host's left at start()). Where several exchanges are under
  /// way, before the first finish().
  void send();
  /// Sends what has not left, waits, unpacks, fills what is left. After this all ghosts to `depth` are right.
  void finish(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls);
  // In parts, without messages: nothing is filled that only these can fill.
  /// The ghosts of some cells, but those of the last axis; of axes before it where the cells touch a wall, or go all
  /// the way around.
  void fill_rows(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls, const Box& cells) const;
  /// The ghosts of the last axis, over the same cells along the other axes and their ghosts. @param sides with walls:
  /// those that are filled; around a periodic axis both are.
  void fill_sides(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls, const Box& cells,
                  Sides sides) const;
  /// Owned cells at least `reach` away from every side whose ghosts only finish() fills: safe to compute in between.
  Box ready(std::array<int, 3> reach) const;
  /// True when finish() has nothing to do, so that there is no reason to split the work.
  bool is_local() const;

 private:
  struct Exchange;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace hindsight
