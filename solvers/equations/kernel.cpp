#include "solvers/equations/kernel.hpp"

#include "solvers/equations/emit_device.hpp"
#include "solvers/equations/kernel_text.hpp"
#include "solvers/equations/simplify.hpp"
#include "solvers/equations/tape.hpp"

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
                             Machine& machine, std::size_t longest)
    : specs_(kernels), boxes_(boxes) {
  if (kernels.empty()) return;
  if (machine.is_host()) {
    load_on_host(comm, longest);
    return;
  }
  load(emit_device(kernels, boxes), comm, machine);
}

void KernelLibrary::load(const DeviceSource& source, const Communicator& comm, Machine& machine) {
  program_ = machine.load(source.text, source.names(), comm);
  for (std::size_t i = 0; i < source.kernels.size(); ++i) {
    launchers_.push_back(std::make_unique<DeviceKernel>(*program_, i, source.kernels[i]));
    kernels_.emplace_back(*launchers_.back());
  }
}

void KernelLibrary::load_on_host(const Communicator& comm, std::size_t longest) {
  std::vector<KernelSpec> compiled;
  std::vector<bool> is_compiled;
  for (const KernelSpec& kernel : specs_) {
    is_compiled.push_back(are_of_singles({kernel}) || length_of(kernel) <= longest);  // tapes compute doubles
    if (is_compiled.back()) compiled.push_back(kernel);
  }
  if (!compiled.empty()) module_ = host::compile(emit_c(compiled, boxes_), comm);
  TapeKernel::Loop walk = nullptr;
  if (compiled.size() < specs_.size()) {
    tape_loop_ = host::compile(emit_tape_loop(boxes_), comm);
    walk = reinterpret_cast<TapeKernel::Loop>(tape_loop_.function(tape_function));
  }
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const KernelSpec& kernel = specs_[i];
    if (is_compiled[i]) {
      kernels_.emplace_back(reinterpret_cast<Kernel::Function>(module_.function(kernel.name)));
    } else {
      launchers_.push_back(std::make_unique<TapeKernel>(kernel, boxes_, walk));
      kernels_.emplace_back(*launchers_.back());
    }
  }
}

Kernel KernelLibrary::find(const std::string& name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].name == name) return kernels_[i];
  return {};
}

}  // namespace hindsight
