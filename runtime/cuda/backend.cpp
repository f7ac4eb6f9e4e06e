#include "runtime/cuda/backend.hpp"

#include <fmt/format.h>

#include "runtime/cuda/cuda_machine.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace hindsight {
namespace {

constexpr const char* default_architecture = "sm_90";  // for which kernels are compiled to be looked at

class CudaBackend final : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  std::string help() const override { return "a device"; }
  std::string missing() const override {
    const cuda::DeviceReport device = cuda::report();
    return device.devices == 0 ? device.sentence : "";
  }
  std::shared_ptr<Machine> open(const Communicator& comm) const override { return cuda::open_machine(comm); }
  std::string kernel_setting() const override {
    return fmt::format("{}, {}", cuda::report().architecture, cuda::compiler_report().sentence);
  }
  std::optional<BackendReport> report() const override {
    const cuda::DeviceReport device = cuda::report();
    const std::string compiler = cuda::compiler_report().sentence;
    const bool takes = cuda::mpi_takes_devices();
    return BackendReport{"CUDA",
                         fmt::format("{} {}. MPI {} addresses of devices.", device.sentence, compiler,
                                     takes ? "takes" : "does not take"),
                         {{"cuda", device.sentence},
                          {"cuda_toolkit", device.toolkit},
                          {"devices", device.devices},
                          {"mpi_takes_devices", takes},
                          {"nvrtc", compiler}}};
  }
  std::optional<CompiledKernels> compile(const std::string& text) const override {
    return CompiledKernels{default_architecture, cuda::compiler_report().sentence,
                           cuda::compile(cuda::device_text(text), default_architecture).kernels};
  }
};

}  // namespace

const Backend& cuda::backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace hindsight
