#include "runtime/cuda/device.hpp"
#include "runtime/error.hpp"

namespace hindsight::cuda {

DeviceReport report() {
  return {false, 0, "", "Built without the CUDA toolkit."};
}

std::unique_ptr<Device> open_device(int) {
  throw ResourceError(report().sentence);
}

}  // namespace hindsight::cuda
