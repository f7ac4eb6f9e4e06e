#include "src/backend/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include "src/error.hpp"

namespace hindsight::cuda {
namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw ResourceError(std::string("CUDA failed: ") + call + ": " + cudaGetErrorString(status));
}

class LoadedProgram final : public Program {
 public:
  LoadedProgram(const std::string& cubin, const std::vector<KernelName>& kernels) {
    check(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    for (const KernelName& kernel : kernels) {
      kernels_.push_back({nullptr, kernel});
      check(cudaLibraryGetKernel(&kernels_.back().handle, library_, kernel.name.c_str()), "cudaLibraryGetKernel");
    }
  }
  ~LoadedProgram() override { cudaLibraryUnload(library_); }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  void run(std::size_t kernel, const void* arguments, std::int64_t blocks) override {
    const Loaded& loaded = kernels_[kernel];
    void* parameters[] = {const_cast<void*>(arguments)};
    const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(loaded.facts.threads));
    const cudaError_t status =
        cudaLaunchKernel(reinterpret_cast<const void*>(loaded.handle), grid, block, parameters, 0, nullptr);
    if (status != cudaSuccess) check(status, ("the launch of " + loaded.facts.name).c_str());
  }

 private:
  struct Loaded {
    cudaKernel_t handle;
    KernelName facts;
  };
  cudaLibrary_t library_ = nullptr;
  std::vector<Loaded> kernels_;
};

class RealDevice final : public Device {
 public:
  explicit RealDevice(int number) {
    check(cudaSetDevice(number), "cudaSetDevice");
    check(cudaGetDeviceProperties(&properties_, number), "cudaGetDeviceProperties");
  }
  std::string name() const override { return properties_.name; }
  std::string architecture() const override {
    return "sm_" + std::to_string(properties_.major) + std::to_string(properties_.minor);
  }
  void* allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "cudaMalloc");
    return memory;
  }
  void free(void* memory) noexcept override { cudaFree(memory); }
  void clear(void* memory, std::int64_t bytes) override {
    check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)), "cudaMemset");
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault), "cudaMemcpy");
  }
  std::unique_ptr<Program> load(const std::string& cubin, const std::vector<KernelName>& kernels) override {
    return std::make_unique<LoadedProgram>(cubin, kernels);
  }

 private:
  cudaDeviceProp properties_{};
};

}  // namespace

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

std::unique_ptr<Device> open_device(int number) {
  if (const DeviceReport here = report(); number >= here.devices) throw ResourceError(here.sentence);
  return std::make_unique<RealDevice>(number);
}

}  // namespace hindsight::cuda
