#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/device_program.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"
#include "solvers/grid/cell_operations.hpp"

namespace hindsight {
namespace {

constexpr int threads = 128;  // as in the text

// A thread per cell, or per place of a wall, which goes through the layers.
const char* const text = R"(
struct block { double* first; integer strides[3]; };
struct copy_cells_arguments { integer count[3]; struct block from, to; };
struct zero_cells_arguments { integer count[3]; struct block cells; };
struct wall {
  integer count[2], strides[2], layers, step;
  double *ghost, *mirror;
  double sign, factor, growth;
  const double* value;
  double constant;
  double* bar;
  integer wall_stride;
};
struct fill_wall_arguments { struct wall wall; };
struct transpose_wall_arguments { struct wall wall; };

#define AT(block) (block).first[(block).strides[0] * i + (block).strides[1] * j + (block).strides[2] * k]
#define EACH_CELL \
  EACH_THREAD(128) for (unsigned at = (unsigned)BLOCK * 128u + thread, x = L.count[0], y = L.count[1], i = at % x, \
                        j = at / x % y, k = at / x / y; k < L.count[2]; k = L.count[2])

KERNEL(copy_cells, 128) {
  EACH_CELL AT(L.to) = AT(L.from);
}

KERNEL(zero_cells, 128) {
  EACH_CELL AT(L.cells) = 0.0;
}

#define EACH_GHOST \
  EACH_THREAD(128) for (integer at = BLOCK * 128 + thread, p = at % w.count[0], q = at / w.count[0], m = 0; \
                        q < w.count[1] && m < w.layers; ++m)
#define GHOST w.ghost[w.strides[0] * p + w.strides[1] * q + w.step * m]
#define MIRROR w.mirror[w.strides[0] * p + w.strides[1] * q - w.step * m]

KERNEL(fill_wall, 128) {
  const struct wall w = L.wall;
  EACH_GHOST {
    const double shift = w.factor * (1 + w.growth * (double)m) * (w.value ? w.value[p + w.wall_stride * q] : w.constant);
    GHOST = w.sign == 0.0 ? 0.0 : w.sign < 0.0 ? shift - MIRROR : shift + MIRROR;
  }
}

struct find_bad_arguments { integer count[3]; struct block cells; double* found; };

KERNEL(find_bad, 128) {
  EACH_CELL {
    const double value = AT(L.cells);
    if (!(value - value == 0.0)) *L.found = 1.0;
  }
}

struct find_largest_arguments { integer count[3]; struct block cells; double* found; integer threads; };

// Each thread of its own cells.
KERNEL(find_largest, 128) {
  EACH_THREAD(128) {
    const integer n = BLOCK * 128 + thread, x = L.count[0], y = L.count[1];
    double most = 0.0;
    for (integer at = n; at < x * y * L.count[2]; at += L.threads) {
      const integer i = at % x, j = at / x % y, k = at / x / y;
      const double value = AT(L.cells);
      most = value - value != 0.0 ? 1.7976931348623157e308 : value > most ? value : most;
    }
    L.found[n] = most;
  }
}

struct points_arguments { integer count; const integer* places; double *values, *field; };
struct gather_arguments { struct points_arguments points; };
struct add_arguments { struct points_arguments points; };

KERNEL(gather, 128) {
  EACH_THREAD(128) {
    const integer n = BLOCK * 128 + thread;
    if (n < L.points.count) L.points.values[n] = L.points.field[L.points.places[n]];
  }
}

KERNEL(add, 1) {
  for (integer n = 0; n < L.points.count; ++n) L.points.field[L.points.places[n]] += L.points.values[n];
}

KERNEL(transpose_wall, 128) {
  const struct wall w = L.wall;
  EACH_GHOST {
    const double ghost = GHOST;
    if (w.sign != 0.0) MIRROR += w.sign < 0.0 ? -ghost : ghost;
    if (w.sign != 0.0 && w.bar) w.bar[p + w.wall_stride * q] += w.factor * (1 + w.growth * (double)m) * ghost;
    GHOST = 0.0;
  }
}
)";

enum Kernels : std::size_t {
  copying,
  zeroing,
  filling_wall,
  transposing_wall,
  finding_bad,
  finding_largest,
  gathering,
  adding
};

const std::vector<device::KernelName> names = {
    {"copy_cells", threads}, {"zero_cells", threads},   {"fill_wall", threads}, {"transpose_wall", threads},
    {"find_bad", threads},   {"find_largest", threads}, {"gather", threads},    {"add", 1}};

/// The structs of the text.
struct CopyArguments {
  Index3 count;
  CellBlock from, to;
};
struct ZeroArguments {
  Index3 count;
  CellBlock cells;
};
struct FindArguments {
  Index3 count;
  CellBlock cells;
  double* found;
};
struct LargestArguments {
  Index3 count;
  CellBlock cells;
  double* found;
  std::int64_t threads;
};
struct PointsArguments {
  std::int64_t count;
  const double* places;
  double *values, *field;
};

// Words of 8 bytes, without gaps, as in the text.
static_assert(sizeof(CellBlock) == 4 * 8 && sizeof(WallGhosts) == 15 * 8 && sizeof(CopyArguments) == 11 * 8 &&
              sizeof(ZeroArguments) == 7 * 8 && sizeof(FindArguments) == 8 * 8 && sizeof(LargestArguments) == 9 * 8 &&
              sizeof(PointsArguments) == 4 * 8);

std::int64_t blocks_for(std::int64_t count) {
  return (count + threads - 1) / threads;
}

class DeviceOperations final : public CellOperations {
 public:
  DeviceOperations(Machine& machine, const Communicator& comm)
      : machine_(machine), program_(machine.load(text, names, comm)), found_(1, machine) {}
  void copy(const Index3& count, const CellBlock& from, const CellBlock& to) const override {
    const CopyArguments arguments{count, from, to};
    run(copying, arguments, count[0] * count[1] * count[2]);
  }
  void zero(const Index3& count, const CellBlock& cells) const override {
    const ZeroArguments arguments{count, cells};
    run(zeroing, arguments, count[0] * count[1] * count[2]);
  }
  void fill_wall(const WallGhosts& wall) const override { run(filling_wall, wall, wall.count[0] * wall.count[1]); }
  void transpose_wall(const WallGhosts& wall) const override {
    run(transposing_wall, wall, wall.count[0] * wall.count[1]);
  }
  bool are_finite(const Index3& count, const CellBlock& cells) const override {
    machine_.clear(found_.data(), 1);
    const FindArguments arguments{count, cells, found_.data()};
    run(finding_bad, arguments, count[0] * count[1] * count[2]);
    return machine_.values(found_.data(), 1)[0] == 0.0;
  }
  /// In two launches: of many threads, then of as many as a block has.
  double largest(const Index3& count, const CellBlock& cells) const override {
    const std::int64_t blocks = std::min(most_blocks, blocks_for(count[0] * count[1] * count[2]));
    reserve_largest();
    double* const each = passing_.data();
    double* const few = each + most_blocks * threads;
    run(finding_largest, LargestArguments{count, cells, each, blocks * threads}, blocks * threads);
    const Index3 found{blocks * threads, 1, 1};
    run(finding_largest, LargestArguments{found, CellOperations::packed(found, each), few, threads}, threads);
    const double most = std::ranges::max(machine_.values(few, threads));
    return most < std::numeric_limits<double>::max() ? most : std::numeric_limits<double>::infinity();
  }
  void reserve_largest() const override { grow((most_blocks + 1) * threads); }
  void pack(const Index3& count, const CellBlock& cells, double* to) const override {
    const std::int64_t size = count[0] * count[1] * count[2];
    grow(size);
    copy(count, cells, packed(count, passing_.data()));
    machine_.copy(to, passing_.data(), size);
  }
  void unpack(const Index3& count, const double* from, const CellBlock& cells) const override {
    const std::int64_t size = count[0] * count[1] * count[2];
    grow(size);
    machine_.copy(passing_.data(), from, size);
    copy(count, packed(count, passing_.data()), cells);
  }
  void reserve(std::int64_t places) const override { grow(2 * places); }
  void gather(const std::vector<std::int64_t>& places, const double* field, double* values) const override {
    const PointsArguments points = bring(places, const_cast<double*>(field));
    run(gathering, points, points.count);
    machine_.copy(values, points.values, points.count);
  }
  void add(const std::vector<std::int64_t>& places, const double* values, double* field) const override {
    const PointsArguments points = bring(places, field);
    machine_.copy(points.values, values, points.count);
    if (points.count > 0) program_->run(adding, device::Arguments(points), 1);  // two may add to one cell
  }

 private:
  static constexpr std::int64_t most_blocks = 64;  // of the first launch of largest()
  template <class Struct>
  void run(std::size_t kernel, const Struct& arguments, std::int64_t count) const {
    if (count >= (std::int64_t{1} << 32U) - threads)
      throw Error(ExitCode::bug, "a box has too many cells for a device");
    if (count > 0) program_->run(kernel, device::Arguments(arguments), blocks_for(count));
  }
  void grow(std::int64_t doubles) const {
    if (passing_.size() < doubles) passing_ = Memory(doubles, machine_);
  }
  /// Numbers of places are as long as doubles and lie among them.
  PointsArguments bring(const std::vector<std::int64_t>& places, double* field) const {
    const auto count = static_cast<std::int64_t>(places.size());
    grow(2 * count);
    machine_.copy(passing_.data(), reinterpret_cast<const double*>(places.data()), count);
    return {count, passing_.data(), passing_.data() + count, field};
  }

  Machine& machine_;
  std::unique_ptr<device::Program> program_;
  Memory found_;
  mutable Memory passing_;  // to and from the host: cells, or places and then values
};

}  // namespace

device::ProgramText device_operations_program() {
  return {text, names};
}

std::shared_ptr<const CellOperations> device_operations(Machine& machine, const Communicator& comm) {
  return std::make_shared<const DeviceOperations>(machine, comm);
}

}  // namespace hindsight
