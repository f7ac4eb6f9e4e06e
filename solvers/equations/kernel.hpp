// Kernels: graphs that are evaluated at every cell of a box, written out as C and compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host/compiler.hpp"
#include "runtime/machine.hpp"
#include "solvers/equations/graph.hpp"

namespace hindsight {

/// What a kernel computes at every cell. Outputs are written at the cell itself, after all reads of the cell.
struct KernelSpec {
  struct Output {
    std::string field;  ///< name of a field symbol; may be one that is read at offset 0
    Expr value;
  };
  struct Sum {
    int accumulator = 0;  ///< index into Launch::sums
    Expr value;
  };
  /// Of kernels that are applied several times in a launch at one cell (Boxes::cell, on the host): what goes from one
  /// time to the next stays in registers.
  struct Repeats {
    /// The array that an output goes to, and the one that reads it at the next time.
    std::vector<std::pair<std::string, std::string>> carried;
    /// Arrays of which there is one for each time, Launch::trail_step apart: those that are carried are written there
    /// as they are read (time 0 first), others are read from there, the last one first.
    std::vector<std::string> trail;
  };
  std::string name;
  std::vector<Output> outputs;
  std::vector<Sum> sums;
  Repeats repeats = {};

  std::vector<Expr> roots() const;
};

/// The kernel with multiply-adds fused in everything it computes (simplify.hpp): the last thing done before it is
/// emitted.
KernelSpec fused(KernelSpec kernel);

/// From one row of an array to the next, and from one plane, in elements.
struct ArrayStrides {
  std::int64_t y = 0, z = 0;
};

/// The arguments of one launch, shared with the generated C (see emit_c). Tables are indexed by the graph's symbols.
struct Launch {
  double* const* fields;             ///< local cell (0,0,0) of each field symbol's array, whatever its elements
  const double* scalars;             ///< value of each scalar symbol
  const double* const* coordinates;  ///< local cell 0 of each axis
  double* const* sums;               ///< accumulator of row (0,0) of each sum, see sum_rows
  std::int64_t lo[3], hi[3];         ///< box
  const ArrayStrides* strides;       ///< by layout (ArrayKind)
  std::int64_t row_y, row_z;         ///< of the accumulators: row of (j,k) is row_y*j + row_z*k
  std::int64_t times = 1;            ///< that a kernel with KernelSpec::Repeats is applied
  std::int64_t trail_step = 0;       ///< elements from what belongs to one time to that of the next one
  /// Cells within walls: the first along x and y, then their ends; far away where this rank has no wall. What kernels
  /// with tiles (emit_device_tiles.hpp) need, and they alone read: hosts' know no more than what comes before it.
  const std::int64_t* within_walls = nullptr;
};

/// A loaded kernel, on whatever computes. Cheap to copy; valid as long as its library.
class Kernel {
 public:
  using Function = void (*)(const Launch*);
  /// A kernel that is more than a function of the host.
  class Launcher {
   public:
    virtual ~Launcher() = default;
    virtual void run(const Launch& launch) = 0;
  };
  Kernel() = default;
  explicit Kernel(Function function) : function_(function) {}
  explicit Kernel(Launcher& launcher) : launcher_(&launcher) {}
  explicit operator bool() const { return function_ != nullptr || launcher_ != nullptr; }
  /// Whether it does what KernelSpec::Repeats says: compiled for the host. Others are applied once.
  bool repeats() const { return function_ != nullptr; }
  void operator()(const Launch& launch) const {
    if (function_ != nullptr) return function_(&launch);
    launcher_->run(launch);
  }

 private:
  Function function_ = nullptr;
  Launcher* launcher_ = nullptr;
};

/// What boxes a kernel meets, and how its sums are kept. One cell (ODE): no loops. A line (1D, walls): one accumulator
/// per cell of the x axis. Rows (2D, 3D): one accumulator per row; cells are added in eight interleaved partial sums,
/// combined in a fixed order, so that the result depends on the row alone.
enum class Boxes { cell, line, rows };
inline Boxes boxes_of(int dimensions) {
  return dimensions == 0 ? Boxes::cell : dimensions == 1 ? Boxes::line : Boxes::rows;
}

/// C source with one function per kernel, named as the kernel. Scalars, and what depends only on them or on y and z,
/// are computed outside the row loop. Memory per cell: each field read once (offsets hit the cache), each output
/// written once.
std::string emit_c(const std::vector<KernelSpec>& kernels, Boxes boxes);

/// The longest kernels (length_of(), tape.hpp) that the host compiles: some seconds' work for a compiler. Longer ones
/// are tapes, which are there at once and compute some seven times as slowly.
inline constexpr std::size_t longest_compiled = 8000;

struct DeviceSource;

/// Loaded kernels, in the order given.
class KernelLibrary {
 public:
  KernelLibrary() = default;
  /// @param longest see longest_compiled. Collective.
  KernelLibrary(const std::vector<KernelSpec>& kernels, Boxes boxes, const Communicator& comm,
                Machine& machine = Machine::host(), std::size_t longest = longest_compiled);
  /// Of a device; it has no specs, and finds no kernel by name. Collective.
  KernelLibrary(const DeviceSource& source, const Communicator& comm, Machine& machine) { load(source, comm, machine); }
  const Kernel& operator[](std::size_t i) const { return kernels_[i]; }
  /// The kernel of this name; an empty one where there is none.
  Kernel find(const std::string& name) const;
  /// What they were made from.
  const std::vector<KernelSpec>& specs() const { return specs_; }
  Boxes boxes() const { return boxes_; }

 private:
  void load_on_host(const Communicator& comm, std::size_t longest);
  void load(const DeviceSource& source, const Communicator& comm, Machine& machine);

  std::vector<KernelSpec> specs_;
  Boxes boxes_ = Boxes::rows;
  host::Module module_, tape_loop_;
  std::unique_ptr<device::Program> program_;
  std::vector<std::unique_ptr<Kernel::Launcher>> launchers_;
  std::vector<Kernel> kernels_;
};

}  // namespace hindsight
