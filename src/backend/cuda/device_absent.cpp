#include "src/backend/cuda/device.hpp"
#include "src/error.hpp"

namespace hindsight::cuda {

DeviceReport report() {
  return {false, 0, "", "Built without the CUDA toolkit."};
}

std::unique_ptr<Device> open_device(int) {
  throw ResourceError(report().sentence);
}

}  // namespace hindsight::cuda
