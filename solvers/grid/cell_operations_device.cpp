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

// A thread per cell, or per place of a wall, which goes through the layers. Kernels of singles are behind those of
// doubles, in the same order.
const char* const text = R"(
struct block { void* first; integer strides[3]; };
struct copy_cells_arguments { integer count[3]; struct block from, to; };
struct zero_cells_arguments { integer count[3]; struct block cells; };
struct wall {
  integer count[2], strides[2], layers, step;
  void *ghost, *mirror;
  double sign, factor, growth;
  const double* value;
  double constant;
  double* bar;
  integer wall_stride;
};
struct transpose_wall_arguments { struct wall wall; };

#define AT(type, block) \
  ((type*)(block).first)[(block).strides[0] * i + (block).strides[1] * j + (block).strides[2] * k]
#define EACH_CELL_OF(of) \
  EACH_THREAD(128) for (unsigned at = (unsigned)BLOCK * 128u + thread, x = of.count[0], y = of.count[1], i = at % x, \
                        j = at / x % y, k = at / x / y; k < of.count[2]; k = of.count[2])

#define COPY(name, old, type) \
struct name##_arguments { struct copy_cells_arguments copy; }; \
KERNEL(name, 128) { EACH_CELL_OF(L.copy) AT(type, L.copy.to) = (type)AT(old, L.copy.from); }
COPY(copy_doubles, double, double)
COPY(copy_doubles_to_singles, double, float)
COPY(copy_singles_to_doubles, float, double)
COPY(copy_singles, float, float)

#define ZERO(name, type) \
struct name##_arguments { struct zero_cells_arguments zero; }; \
KERNEL(name, 128) { EACH_CELL_OF(L.zero) AT(type, L.zero.cells) = 0; }
ZERO(zero_doubles, double)
ZERO(zero_singles, float)

#define EACH_GHOST \
  EACH_THREAD(128) for (integer at = BLOCK * 128 + thread, p = at % w.count[0], q = at / w.count[0], m = 0; \
                        q < w.count[1] && m < w.layers; ++m)
#define GHOST(type) ((type*)w.ghost)[w.strides[0] * p + w.strides[1] * q + w.step * m]
#define MIRROR(type) ((type*)w.mirror)[w.strides[0] * p + w.strides[1] * q - w.step * m]

#define FILL_WALL(name, type) \
struct name##_arguments { struct wall wall; }; \
KERNEL(name, 128) { \
  const struct wall w = L.wall; \
  EACH_GHOST { \
    const double shift = \
        w.factor * (1 + w.growth * (double)m) * (w.value ? w.value[p + w.wall_stride * q] : w.constant); \
    const double mirror = MIRROR(type); \
    GHOST(type) = (type)(w.sign == 0.0 ? 0.0 : w.sign < 0.0 ? shift - mirror : shift + mirror); \
  } \
}
FILL_WALL(fill_wall, double)
FILL_WALL(fill_wall_of_singles, float)

struct find_arguments { integer count[3]; struct block cells; double* found; };

#define FIND_BAD(name, type) \
struct name##_arguments { struct find_arguments find; }; \
KERNEL(name, 128) { \
  EACH_CELL_OF(L.find) { \
    const double value = AT(type, L.find.cells); \
    if (!(value - value == 0.0)) *L.find.found = 1.0; \
  } \
}
FIND_BAD(find_bad, double)
FIND_BAD(find_bad_single, float)

struct largest_arguments { integer count[3]; struct block cells; double* found; integer threads; };

// Each thread of its own cells.
#define FIND_LARGEST(name, type) \
struct name##_arguments { struct largest_arguments largest; }; \
KERNEL(name, 128) { \
  EACH_THREAD(128) { \
    const integer n = BLOCK * 128 + thread, x = L.largest.count[0], y = L.largest.count[1]; \
    double most = 0.0; \
    for (integer at = n; at < x * y * L.largest.count[2]; at += L.largest.threads) { \
      const integer i = at % x, j = at / x % y, k = at / x / y; \
      const double value = AT(type, L.largest.cells); \
      most = value - value != 0.0 ? 1.7976931348623157e308 : value > most ? value : most; \
    } \
    L.largest.found[n] = most; \
  } \
}
FIND_LARGEST(find_largest, double)
FIND_LARGEST(find_largest_single, float)

struct points { integer count; const integer* places; double* values; void* field; };
#define FIELD(type) ((type*)L.points.field)[L.points.places[n]]

#define GATHER(name, type) \
struct name##_arguments { struct points points; }; \
KERNEL(name, 128) { \
  EACH_THREAD(128) { \
    const integer n = BLOCK * 128 + thread; \
    if (n < L.points.count) L.points.values[n] = FIELD(type); \
  } \
}
GATHER(gather, double)
GATHER(gather_singles, float)

#define ADD(name, type) \
struct name##_arguments { struct points points; }; \
KERNEL(name, 1) { \
  for (integer n = 0; n < L.points.count; ++n) FIELD(type) = (type)(FIELD(type) + L.points.values[n]); \
}
ADD(add, double)
ADD(add_to_singles, float)

KERNEL(transpose_wall, 128) {
  const struct wall w = L.wall;
  EACH_GHOST {
    const double ghost = GHOST(double);
    if (w.sign != 0.0) MIRROR(double) += w.sign < 0.0 ? -ghost : ghost;
    if (w.sign != 0.0 && w.bar) w.bar[p + w.wall_stride * q] += w.factor * (1 + w.growth * (double)m) * ghost;
    GHOST(double) = 0.0;
  }
}
)";

/// Of doubles; those of singles follow.
enum Kernels : std::size_t {
  copying = 0,  // and to singles, from singles, of singles
  zeroing = 4,
  filling_wall = 6,
  finding_bad = 8,
  gathering = 10,
  adding = 12,
  finding_largest = 14,
  transposing_wall = 16  // of doubles alone
};

const std::vector<device::KernelName> names = {{"copy_doubles", threads},
                                               {"copy_doubles_to_singles", threads},
                                               {"copy_singles_to_doubles", threads},
                                               {"copy_singles", threads},
                                               {"zero_doubles", threads},
                                               {"zero_singles", threads},
                                               {"fill_wall", threads},
                                               {"fill_wall_of_singles", threads},
                                               {"find_bad", threads},
                                               {"find_bad_single", threads},
                                               {"gather", threads},
                                               {"gather_singles", threads},
                                               {"add", 1},
                                               {"add_to_singles", 1},
                                               {"find_largest", threads},
                                               {"find_largest_single", threads},
                                               {"transpose_wall", threads}};

std::size_t of(std::size_t kernel, Element element) {
  return element == Element::float64 ? kernel : kernel + 1;
}

/// The structs of the text.
struct Block {
  explicit Block(const CellBlock& cells) : first(cells.first), strides(cells.strides) {}
  double* first;
  Index3 strides;
};
struct CopyArguments {
  Index3 count;
  Block from, to;
};
struct ZeroArguments {
  Index3 count;
  Block cells;
};
struct FindArguments {
  Index3 count;
  Block cells;
  double* found;
};
struct LargestArguments {
  Index3 count;
  Block cells;
  double* found;
  std::int64_t threads;
};
struct PointsArguments {
  std::int64_t count;
  const double* places;
  double *values, *field;
};
constexpr std::int64_t wall_bytes = 15 * 8;  // of WallGhosts without its element

// Words of 8 bytes, without gaps, as in the text.
static_assert(sizeof(Block) == 4 * 8 && sizeof(WallGhosts) == 16 * 8 && sizeof(CopyArguments) == 11 * 8 &&
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
    const CopyArguments arguments{count, Block(from), Block(to)};
    const std::size_t kernel = copying + (from.element == Element::float32 ? 2 : 0);
    run(of(kernel, to.element), arguments, count[0] * count[1] * count[2]);
  }
  void zero(const Index3& count, const CellBlock& cells) const override {
    const ZeroArguments arguments{count, Block(cells)};
    run(of(zeroing, cells.element), arguments, count[0] * count[1] * count[2]);
  }
  void fill_wall(const WallGhosts& wall) const override { run_wall(of(filling_wall, wall.element), wall); }
  void transpose_wall(const WallGhosts& wall) const override { run_wall(transposing_wall, wall); }
  bool are_finite(const Index3& count, const CellBlock& cells) const override {
    machine_.clear(found_.data(), 1);
    const FindArguments arguments{count, Block(cells), found_.data()};
    run(of(finding_bad, cells.element), arguments, count[0] * count[1] * count[2]);
    return machine_.values(found_.data(), 1)[0] == 0.0;
  }
  /// In two launches: of many threads, then of as many as a block has.
  double largest(const Index3& count, const CellBlock& cells) const override {
    const std::int64_t blocks = std::min(most_blocks, blocks_for(count[0] * count[1] * count[2]));
    reserve_largest();
    double* const each = passing_.data();
    double* const few = each + most_blocks * threads;
    const LargestArguments all{count, Block(cells), each, blocks * threads};
    run(of(finding_largest, cells.element), all, blocks * threads);
    const Index3 found{blocks * threads, 1, 1};
    run(finding_largest, LargestArguments{found, Block(CellOperations::packed(found, each)), few, threads}, threads);
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
  void gather(const std::vector<std::int64_t>& places, ConstCellArray field, double* values) const override {
    if (places.empty()) return;
    const PointsArguments points = bring(places, const_cast<double*>(field.cell));
    run(of(gathering, field.element), points, points.count);
    machine_.copy(values, points.values, points.count);
  }
  void add(const std::vector<std::int64_t>& places, const double* values, CellArray field) const override {
    if (places.empty()) return;
    const PointsArguments points = bring(places, field.cell);
    machine_.copy(points.values, values, points.count);
    program_->run(of(adding, field.element), device::Arguments(points), 1);  // two may add to one cell
  }

 private:
  static constexpr std::int64_t most_blocks = 64;  // of the first launch of largest()
  template <class Struct>
  void run(std::size_t kernel, const Struct& arguments, std::int64_t count) const {
    run(kernel, device::Arguments(arguments), count);
  }
  void run(std::size_t kernel, device::Arguments arguments, std::int64_t count) const {
    if (count >= (std::int64_t{1} << 32U) - threads)
      throw Error(ExitCode::bug, "a box has too many cells for a device");
    if (count > 0) program_->run(kernel, arguments, blocks_for(count));
  }
  void run_wall(std::size_t kernel, const WallGhosts& wall) const {
    run(kernel, device::Arguments(&wall, wall_bytes), wall.count[0] * wall.count[1]);
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
