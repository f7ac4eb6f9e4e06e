#include "src/backend/cuda/device.hpp"

namespace hindsight::cuda {

DeviceReport report() {
  return {false, 0, "Built without the CUDA toolkit."};
}

}  // namespace hindsight::cuda
