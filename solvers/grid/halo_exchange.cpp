#include "solvers/grid/halo_exchange.hpp"

#include <algorithm>

#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
struct HaloExchange::Exchange {
  /// One side of a split axis: what goes out, where ghosts come in.
  struct Side {
    int axis = 0;
    Box send, receive;
    Memory outgoing, incoming;  // one cell after another, on the machine
    Memory sent, received;      // the same on the host, where MPI does not take a device's
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    bool receives = false;  // since post(), until complete()
  };

  Exchange(const Grid& g, int field_count, std::array<int, 3> d, bool with_corners, Element of)
      : grid(g), depth(d), corners(with_corners), element(of), first_split(g.dimensions()) {
    for (std::size_t a = 0; a < 3; ++a)
      if (depth[a] > grid.layout().halo[a]) throw Error(ExitCode::bug, "an exchange is deeper than the grid's halo");
    MPI_Comm_dup(grid.communicator().handle(), &comm);
    for (int axis = grid.dimensions(); axis-- > 0;)
      if (is_exchanged(axis)) first_split = axis;
    if (!grid.machine().is_host() && first_split < grid.dimensions()) packed = grid.machine().event(Waiting::spins);
    for (int axis = first_split; axis < grid.dimensions(); ++axis)
      for (int side = 0; side < 2 && is_exchanged(axis); ++side) add_side(axis, side, field_count);
  }
  ~Exchange() {
    for (Side& side : sides) {
      if (!side.receives) continue;  // something failed in between
      MPI_Cancel(&side.requests[0]);
      MPI_Wait(&side.requests[0], MPI_STATUS_IGNORE);
    }
    for (Side& side : sides)
      for (MPI_Request& request : side.requests)
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    MPI_Comm_free(&comm);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool is_exchanged(int axis) const { return grid.is_split(axis) && depth[static_cast<std::size_t>(axis)] > 0; }

  /// Owned cells, plus the ghosts of axes that are complete before `axis` is exchanged.
  Box base(int axis) const {
    Box box = grid.interior();
    for (int a = 0; a < axis; ++a) {
      const auto i = static_cast<std::size_t>(a);
      if (a == 1 && !corners) continue;
      box.lo[i] -= depth[i];
      box.hi[i] += depth[i];
    }
    return box;
  }

  void add_side(int axis, int side, int field_count) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t n = grid.cells()[a];
    Side s;
    s.axis = axis;
    s.send = s.receive = base(axis);
    s.send.lo[a] = side == 0 ? 0 : n - depth[a];
    s.send.hi[a] = side == 0 ? depth[a] : n;
    s.receive.lo[a] = side == 0 ? -depth[a] : n;
    s.receive.hi[a] = side == 0 ? 0 : n + depth[a];
    const int other = grid.neighbour(axis, side);
    if (other == MPI_PROC_NULL) return;
    const std::int64_t count = s.send.cells() * field_count, doubles = doubles_of(element, count);
    Machine& machine = grid.machine();
    s.outgoing = Memory(doubles, machine);
    s.incoming = Memory(doubles, machine);
    if (!machine.is_open_to_mpi()) {
      s.sent = Memory(doubles, machine.near_host());
      s.received = Memory(doubles, machine.near_host());
    }
    double* const out = machine.is_open_to_mpi() ? s.outgoing.data() : s.sent.data();
    double* const in = machine.is_open_to_mpi() ? s.incoming.data() : s.received.data();
    // A message's tag names the side it leaves from; it arrives on the opposite one.
    const MPI_Datatype type = element == Element::float64 ? MPI_DOUBLE : MPI_FLOAT;
    MPI_Recv_init(in, static_cast<int>(count), type, other, 2 * axis + (1 - side), comm, &s.requests[0]);
    MPI_Send_init(out, static_cast<int>(count), type, other, 2 * axis + side, comm, &s.requests[1]);
    sides.push_back(std::move(s));
  }

  /// The messages of an axis, or with axis -1 of all.
  template <class Work>
  void for_sides(int axis, Work work) {
    for (Side& side : sides)
      if (axis < 0 || side.axis == axis) work(side);
  }

  /// Packs what goes out. A host sends at once, a device's messages leave with send().
  void post(int axis, const std::vector<CellArray>& fields) {
    for_sides(axis, [&](Side& side) {
      double* memory = side.outgoing.data();
      for (const CellArray& field : fields) {
        const Index3 count = side.send.extent();
        grid.operations().copy(count, grid.block(side.send, field), CellOperations::packed(count, memory, element));
        memory = at_element(memory, side.send.cells(), element);
      }
    });
    if (packed) {
      packed->set();
      waiting = axis;
      for_sides(axis, [](Side& side) {
        if (side.received.size() == 0) return;
        MPI_Start(&side.requests[0]);
        side.receives = true;
      });
    } else {
      for_sides(axis, [](Side& side) { MPI_Startall(2, side.requests); });
    }
  }

  /// Beside the kernels that a device was asked for since. Until it has packed, it may still be unpacking what came in
  /// before.
  void send() {
    if (waiting == nothing) return;
    grid.link().wait(*packed);
    for_sides(waiting, [&](Side& side) {
      if (side.sent.size() == 0) {
        MPI_Startall(2, side.requests);
        return;
      }
      grid.link().copy(side.sent.data(), side.outgoing.data(), side.sent.size());
      MPI_Start(&side.requests[1]);
    });
    waiting = nothing;
  }

  void complete(int axis, const std::vector<CellArray>& fields) {
    for_sides(axis, [&](Side& side) {
      MPI_Waitall(2, side.requests, MPI_STATUSES_IGNORE);
      side.receives = false;
      if (side.received.size() > 0) grid.link().copy(side.incoming.data(), side.received.data(), side.received.size());
      double* memory = side.incoming.data();
      for (const CellArray& field : fields) {
        const Index3 count = side.receive.extent();
        grid.operations().copy(count, CellOperations::packed(count, memory, element), grid.block(side.receive, field));
        memory = at_element(memory, side.receive.cells(), element);
      }
    });
  }

  /// These cells, and their ghosts of the axes before this one.
  Box over_lower(int axis, Box cells) const {
    for (std::size_t lower = 0; lower < static_cast<std::size_t>(axis); ++lower) {
      cells.lo[lower] -= depth[lower];
      cells.hi[lower] += depth[lower];
    }
    return cells;
  }

  /// Whether ghosts follow from these cells: beyond walls that they touch, or around an axis that they fill.
  Sides touched(int axis, const Box& cells) const {
    const auto a = static_cast<std::size_t>(axis);
    if (grid.is_split(axis) || !grid.axes()[a].periodic) {
      const bool below = grid.is_wall(axis, 0) && cells.lo[a] == 0;
      return {below, grid.is_wall(axis, 1) && cells.hi[a] == grid.cells()[a]};
    }
    const bool is_whole = cells.lo[a] == 0 && cells.hi[a] == grid.cells()[a];
    return {is_whole, is_whole};
  }

  /// Periodic wrap or walls of one axis, over what `over` says of the others.
  void fill_here(int axis, const Box& over, const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls,
                 Sides filled = both_sides) const {
    const auto a = static_cast<std::size_t>(axis);
    if (depth[a] == 0) return;
    const bool wraps = grid.axes()[a].periodic && !grid.is_split(axis);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (wraps) {
        if (filled[0]) wrap(axis, over, fields[f]);
      } else {
        fill_walls(grid, axis, depth[a], over, walls[f], fields[f], filled);
      }
    }
  }

  void wrap(int axis, Box box, CellArray field) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t n = grid.cells()[a];
    box.lo[a] = 0;
    box.hi[a] = depth[a];
    const auto shifted = [&](std::int64_t by) {
      Box there = box;
      there.lo[a] += by;
      there.hi[a] += by;
      return grid.block(there, field);
    };
    grid.operations().copy(box.extent(), shifted(n - depth[a]), shifted(-depth[a]));
    grid.operations().copy(box.extent(), shifted(0), shifted(n));
  }

  const Grid& grid;
  std::array<int, 3> depth;
  bool corners;
  Element element;
  int first_split;                // axis; those before it are filled without messages
  std::unique_ptr<Event> packed;  // by a device
  static constexpr int nothing = -2;
  int waiting = nothing;  // for send(): an axis, or -1
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<Side> sides;
};

HaloExchange::HaloExchange(const Grid& grid, int fields, std::array<int, 3> depth, bool corners, Element element)
    : exchange_(std::make_unique<Exchange>(grid, fields, depth, corners, element)) {}
HaloExchange::~HaloExchange() = default;
HaloExchange::HaloExchange(HaloExchange&&) noexcept = default;
HaloExchange& HaloExchange::operator=(HaloExchange&&) noexcept = default;

bool HaloExchange::is_local() const {
  return exchange_->sides.empty();
}

void HaloExchange::start(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls) {
  const int d = exchange_->grid.dimensions();
  for (int axis = 0; axis < std::min(d, exchange_->first_split); ++axis)
    exchange_->fill_here(axis, exchange_->over_lower(axis, exchange_->grid.interior()), fields, walls);
  if (!is_local()) exchange_->post(exchange_->corners ? exchange_->first_split : -1, fields);
}

void HaloExchange::send() {
  exchange_->send();
}

void HaloExchange::finish(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls) {
  if (is_local()) return;
  const int first = exchange_->first_split;
  exchange_->send();
  for (int axis = first; axis < exchange_->grid.dimensions(); ++axis) {
    if (axis > first && exchange_->corners && exchange_->is_exchanged(axis)) {
      exchange_->post(axis, fields);
      exchange_->send();
    }
    exchange_->complete(axis, fields);
    exchange_->fill_here(axis, exchange_->over_lower(axis, exchange_->grid.interior()), fields, walls);
  }
}

void HaloExchange::fill_rows(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls,
                             const Box& cells) const {
  for (int axis = 0; axis + 1 < exchange_->grid.dimensions(); ++axis)
    exchange_->fill_here(axis, exchange_->over_lower(axis, cells), fields, walls, exchange_->touched(axis, cells));
}

void HaloExchange::fill_sides(const std::vector<CellArray>& fields, const std::vector<FieldWalls>& walls,
                              const Box& cells, Sides sides) const {
  const int last = exchange_->grid.dimensions() - 1;
  Box over = exchange_->over_lower(last, cells);
  for (int axis = 0; axis < last; ++axis) {  // where cells go on these are all that there are
    const auto a = static_cast<std::size_t>(axis);
    const Sides ends = exchange_->touched(axis, cells);
    if (!ends[0]) over.lo[a] = cells.lo[a];
    if (!ends[1]) over.hi[a] = cells.hi[a];
  }
  exchange_->fill_here(last, over, fields, walls, sides);
}

Box HaloExchange::ready(std::array<int, 3> reach) const {
  Box box = exchange_->grid.interior();
  if (is_local()) return box;
  for (int axis = exchange_->first_split; axis < exchange_->grid.dimensions(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    box.lo[a] = std::min<std::int64_t>(reach[a], box.hi[a]);
    box.hi[a] = std::max(box.lo[a], box.hi[a] - reach[a]);
  }
  return box;
}

}  // namespace hindsight
