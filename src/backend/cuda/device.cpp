#include "src/backend/cuda/device.hpp"

#include <cuda_runtime_api.h>

namespace hindsight::cuda {

DeviceReport report() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess)
    return {true, 0, std::string("Built with the CUDA toolkit; no usable device: ") + cudaGetErrorString(status) + "."};
  cudaDeviceProp properties;
  if (count == 0 || cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
    return {true, 0, "Built with the CUDA toolkit; no device was found."};
  return {
      true, count,
      "Built with the CUDA toolkit; " + std::to_string(count) + " device(s), the first is " + properties.name + "."};
}

}  // namespace hindsight::cuda
