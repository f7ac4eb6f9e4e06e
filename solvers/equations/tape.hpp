// Kernels that are too long for a compiler, as lists of operations that a small compiled loop walks through.
//
// The time to compile a straight line of operations grows with the square of its length: equations of a hundred coupled
// fields, with their derivatives, would take minutes. A tape takes none. Its loop is compiled once for all kernels, by
// the same compiler and from the same text of each operation (operation_text()), so that results have the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/kernel.hpp"

namespace hindsight {

/// What a kernel's text would define and write, in lines.
std::size_t length_of(const KernelSpec& kernel);

/// Source of the loop, in C: one function of the name tape_function.
std::string emit_tape_loop(Boxes boxes);
inline constexpr const char* tape_function = "walk_tape";

/// A kernel whose operations are data. Cells are taken in blocks, whose values stay in the cache as long as the kernel
/// lets them. Memory per cell as for compiled kernels. Not for two threads at once.
class TapeKernel final : public Kernel::Launcher {
 public:
  /// One operation on values by their places; what is not an Op is written or summed up.
  struct Operation {
    std::int32_t code, to, a, b, c;
  };
  /// An array, or an axis' coordinates, and the value that is read from it or written to it.
  struct Access {
    std::int32_t symbol, layout, is_single, is_coordinate, value, offset[3];
  };
  /// A scalar and its value; a sum's accumulator.
  struct Pair {
    std::int32_t symbol, value;
  };
  /// As the loop reads it.
  struct Tape {
    const Operation* operations;
    const Access* reads;
    const Access* writes;
    const Pair* scalars;
    const std::int32_t* accumulators;
    double* values;  ///< `width` of each
    double* parts;   ///< of a row, of each sum
    std::int64_t operation_count, read_count, scalar_count, sum_count, width;
  };
  using Loop = void (*)(const Tape*, const Launch*);

  TapeKernel(const KernelSpec& kernel, Boxes boxes, Loop loop);
  void run(const Launch& launch) override { loop_(&tape_, &launch); }

 private:
  CountedVector<Operation> operations_;
  CountedVector<Access> reads_, writes_;
  CountedVector<Pair> scalars_;
  CountedVector<std::int32_t> accumulators_;
  CountedVector<double> values_, parts_;
  Tape tape_{};
  Loop loop_;
};

}  // namespace hindsight
