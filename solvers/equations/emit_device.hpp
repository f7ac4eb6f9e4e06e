// Kernels in the text for devices (runtime/device_program.hpp).
//
// A kernel without sums: threads along x, each going along the slowest axis for a few cells, so that what it reads
// again lies in the cache. With sums of rows: a block takes a row in pieces, a cell per thread; summands meet in shared
// memory and are added in the host's order (kernel.hpp, Boxes), so that sums have the host's bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device_program.hpp"
#include "solvers/equations/kernel.hpp"

namespace hindsight {

/// Of a block's shared memory: what every device has.
inline constexpr std::int64_t shared_bytes = std::int64_t{48} << 10U;

/// What one launch of a kernel hands over: symbols in the order in which the kernel has them.
struct DeviceKernelFacts {
  std::string name;
  Boxes boxes = Boxes::rows;
  bool sums_rows = false;  ///< a block per row
  int threads = 1;         ///< per block
  std::vector<int> fields, scalars, sums, layouts;
  std::array<int, 2> tile{0, 0};  ///< cells of a block along x and y, where a block has a tile
};
/// The definition of its arguments, in words of 8 bytes, as DeviceLaunch writes them.
std::string arguments_text(const DeviceKernelFacts& kernel);

struct DeviceSource {
  std::string text;  ///< as runtime/device_program.hpp has it
  std::vector<DeviceKernelFacts> kernels;
  std::vector<device::KernelName> names() const;
};
DeviceSource emit_device(const std::vector<KernelSpec>& kernels, Boxes boxes);

/// The arguments of a launch as the kernel reads them, and its blocks. Reused, it allocates nothing.
class DeviceLaunch {
 public:
  void set(const DeviceKernelFacts& kernel, const Launch& launch);
  std::int64_t blocks() const { return blocks_; }
  /// A kernel's one parameter, passed by value.
  device::Arguments arguments() const { return {words_.data(), static_cast<std::int64_t>(8 * words_.size())}; }

 private:
  std::vector<std::uint64_t> words_;
  std::int64_t blocks_ = 0;
};

}  // namespace hindsight
