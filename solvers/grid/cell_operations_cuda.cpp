#include <bit>
#include <vector>

#include "solvers/grid/cell_operations.hpp"
#include "src/backend/cuda/program.hpp"

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

enum Kernels : std::size_t { copy_cells, zero_cells, fill_wall_ghosts, transpose_wall_ghosts };

/// The structs of the text.
struct CopyArguments {
  Index3 count;
  CellBlock from, to;
};
struct ZeroArguments {
  Index3 count;
  CellBlock cells;
};

std::int64_t blocks_for(std::int64_t count) {
  return (count + threads - 1) / threads;
}

class DeviceOperations final : public CellOperations {
 public:
  explicit DeviceOperations(std::unique_ptr<cuda::Program> program) : program_(std::move(program)) {}
  void copy(const Index3& count, const CellBlock& from, const CellBlock& to) const override {
    const CopyArguments arguments{count, from, to};
    run(copy_cells, &arguments, count[0] * count[1] * count[2]);
  }
  void zero(const Index3& count, const CellBlock& cells) const override {
    const ZeroArguments arguments{count, cells};
    run(zero_cells, &arguments, count[0] * count[1] * count[2]);
  }
  void fill_wall(const WallGhosts& wall) const override { run(fill_wall_ghosts, &wall, wall.count[0] * wall.count[1]); }
  void transpose_wall(const WallGhosts& wall) const override {
    run(transpose_wall_ghosts, &wall, wall.count[0] * wall.count[1]);
  }

 private:
  void run(std::size_t kernel, const void* arguments, std::int64_t count) const {
    if (count > 0) program_->run(kernel, arguments, blocks_for(count));
  }
  std::unique_ptr<cuda::Program> program_;
};

}  // namespace

std::unique_ptr<CellOperations> emulated_cell_operations(const Communicator& comm) {
  return std::make_unique<DeviceOperations>(cuda::emulate(
      text, {{"copy_cells", threads}, {"zero_cells", threads}, {"fill_wall", threads}, {"transpose_wall", threads}},
      comm));
}

}  // namespace hindsight
