#include "src/backend/cuda/program.hpp"

#include <fmt/format.h>

#include "src/backend/host/compiler.hpp"

namespace hindsight::cuda {
namespace {

const char* const device_preamble = R"(typedef long long integer;
#define not_a_number __longlong_as_double(0x7ff8000000000000ll)
#define infinity __longlong_as_double(0x7ff0000000000000ll)
#define KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ struct name##_arguments L)
#define BLOCK ((integer)blockIdx.x)
#define SHARED __shared__
#define EACH_THREAD(threads) for (int thread = threadIdx.x, once = 1; once; once = 0, __syncthreads())
)";

const char* const host_preamble =
    R"(#define KERNEL(name, threads) static void name(const struct name##_arguments* arguments, integer BLOCK)
#define L (*arguments)
#define SHARED
#define EACH_THREAD(threads) for (int thread = 0; thread < (threads); ++thread)
)";

class EmulatedProgram final : public Program {
 public:
  EmulatedProgram(const std::string& text, const std::vector<KernelName>& kernels, const Communicator& comm) {
    std::string all = std::string(host::c_names) + host_preamble + text;
    for (const KernelName& kernel : kernels)
      all += fmt::format(
          "void {0}_blocks(const void* with, integer blocks) {{\nfor (integer b = 0; b < blocks; ++b) {0}(with, "
          "b);\n}}\n",
          kernel.name);
    module_ = host::compile(all, comm);
    for (const KernelName& kernel : kernels)
      functions_.push_back(reinterpret_cast<Function>(module_.function(kernel.name + "_blocks")));
  }
  void run(std::size_t kernel, const void* arguments, std::int64_t blocks) override {
    functions_[kernel](arguments, blocks);
  }

 private:
  using Function = void (*)(const void* arguments, long long blocks);
  host::Module module_;
  std::vector<Function> functions_;
};

}  // namespace

std::string device_text(const std::string& text) {
  return device_preamble + text;
}

std::unique_ptr<Program> emulate(const std::string& text, const std::vector<KernelName>& kernels,
                                 const Communicator& comm) {
  return std::make_unique<EmulatedProgram>(text, kernels, comm);
}

}  // namespace hindsight::cuda
