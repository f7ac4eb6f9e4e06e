#include "solvers/equations/kernel.hpp"

#include "solvers/equations/emit_device.hpp"
#include "solvers/equations/simplify.hpp"

namespace hindsight {

std::vector<Expr> KernelSpec::roots() const {
  std::vector<Expr> all;
  for (const Output& output : outputs) all.push_back(output.value);
  for (const Sum& sum : sums) all.push_back(sum.value);
  return all;
}

KernelSpec fused(KernelSpec kernel) {
  const std::vector<Expr> roots = fuse_multiply_add(kernel.roots());
  std::size_t i = 0;
  for (KernelSpec::Output& output : kernel.outputs) output.value = roots[i++];
  for (KernelSpec::Sum& sum : kernel.sums) sum.value = roots[i++];
  return kernel;
}

namespace {

/// A kernel of a program for devices.
class DeviceKernel final : public Kernel::Launcher {
 public:
  DeviceKernel(device::Program& program, std::size_t number, DeviceKernelFacts kernel)
      : program_(program), number_(number), kernel_(std::move(kernel)) {}
  void run(const Launch& launch) override {
    launch_.set(kernel_, launch);
    program_.run(number_, launch_.arguments(), launch_.blocks());
  }

 private:
  device::Program& program_;
  std::size_t number_;
  DeviceKernelFacts kernel_;
  DeviceLaunch launch_;
};

}  // namespace

KernelLibrary::KernelLibrary(const std::vector<KernelSpec>& kernels, Boxes boxes, const Communicator& comm,
                             Machine& machine)
    : specs_(kernels), boxes_(boxes) {
  if (kernels.empty()) return;
  if (machine.is_host()) {
    module_ = host::compile(emit_c(kernels, boxes), comm);
    for (const KernelSpec& kernel : kernels)
      kernels_.emplace_back(reinterpret_cast<Kernel::Function>(module_.function(kernel.name)));
    return;
  }
  const DeviceSource source = emit_device(kernels, boxes);
  program_ = machine.load(source.text, source.names(), comm);
  for (std::size_t i = 0; i < source.kernels.size(); ++i) {
    launchers_.push_back(std::make_unique<DeviceKernel>(*program_, i, source.kernels[i]));
    kernels_.emplace_back(*launchers_.back());
  }
}

Kernel KernelLibrary::find(const std::string& name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].name == name) return kernels_[i];
  return {};
}

}  // namespace hindsight
