// Kernels as CUDA C++, and as C that runs the same text block by block and thread by thread on the host.
//
// A kernel without sums: threads along x, each going along the slowest axis for a few cells, so that what it reads
// again lies in the cache. With sums of rows: a block takes a row in pieces, a cell per thread; summands meet in shared
// memory and are added in the host's order (kernel.hpp, Boxes), so that sums have the host's bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/equations/kernel.hpp"

namespace hindsight {

/// What one launch of a kernel hands over: symbols in the order in which the kernel has them.
struct CudaKernel {
  std::string name;
  Boxes boxes = Boxes::rows;
  bool sums_rows = false;  ///< a block per row
  int threads = 1;         ///< per block
  std::vector<int> fields, scalars, sums;
};

enum class CudaTarget { device, emulation };

struct CudaSource {
  std::string text;
  std::vector<CudaKernel> kernels;
};

/// @param target emulation: C with a function `NAME_blocks(arguments, blocks)` per kernel.
CudaSource emit_cuda(const std::vector<KernelSpec>& kernels, Boxes boxes, CudaTarget target);

/// The arguments of a launch as the kernel reads them, and its blocks. Reused, it allocates nothing.
class CudaLaunch {
 public:
  void set(const CudaKernel& kernel, const Launch& launch);
  std::int64_t blocks() const { return blocks_; }
  /// A kernel's one parameter, passed by value.
  const void* arguments() const { return words_.data(); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(words_.size() * sizeof(std::uint64_t)); }

 private:
  std::vector<std::uint64_t> words_;
  std::int64_t blocks_ = 0;
};

}  // namespace hindsight
