#include "src/backend/cuda/program.hpp"

#include <fmt/format.h>

#include "src/backend/host/compiler.hpp"
#include "src/error.hpp"

namespace hindsight::cuda {
namespace {

const char* const device_preamble = R"(typedef long long integer;
#define not_a_number __longlong_as_double(0x7ff8000000000000ll)
#define infinity __longlong_as_double(0x7ff0000000000000ll)
#define KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ struct name##_arguments L)
#define BLOCK ((integer)blockIdx.x)
#define SHARED __shared__
#define FUNCTION static __device__ __forceinline__
#define EACH_THREAD(threads) for (int thread = threadIdx.x, once = 1; once; once = 0, __syncthreads())
)";

const char* const host_preamble =
    R"(#define KERNEL(name, threads) static void name(const struct name##_arguments* arguments, integer BLOCK)
#define L (*arguments)
#define SHARED
#define FUNCTION static inline __attribute__((always_inline))
)";
const char* const forwards = R"(#define EACH_THREAD(threads) for (int thread = 0; thread < (threads); ++thread)
#define EACH_BLOCK(blocks) for (integer b = 0; b < (blocks); ++b)
)";
const char* const backwards = R"(#define EACH_THREAD(threads) for (int thread = (threads) - 1; thread >= 0; --thread)
#define EACH_BLOCK(blocks) for (integer b = (blocks) - 1; b >= 0; --b)
)";

class OnHost final : public Program {
 public:
  OnHost(const std::string& text, const std::vector<KernelName>& kernels, EmulatedOrder order,
         const Communicator& comm) {
    std::string all = std::string(host::c_names) + host_preamble;
    all += (order == EmulatedOrder::forwards ? forwards : backwards) + text;
    for (const KernelName& kernel : kernels)
      all += fmt::format(
          "void {0}_blocks(const void* with, integer blocks) {{\nEACH_BLOCK(blocks) {0}(with, b);\n}}\n"
          "integer {0}_bytes(void) {{\nreturn sizeof(struct {0}_arguments);\n}}\n",
          kernel.name);
    module_ = host::compile(all, comm);
    for (const KernelName& kernel : kernels)
      functions_.push_back({reinterpret_cast<Run>(module_.function(kernel.name + "_blocks")),
                            reinterpret_cast<Bytes>(module_.function(kernel.name + "_bytes"))()});
  }
  void run(std::size_t kernel, Arguments arguments, std::int64_t blocks) override {
    const Function& function = functions_[kernel];
    if (arguments.bytes != function.argument_bytes) throw Error(ExitCode::bug, "a kernel is given another struct");
    function.run(arguments.data, blocks);
  }

 private:
  using Run = void (*)(const void* arguments, long long blocks);
  using Bytes = long long (*)();
  struct Function {
    Run run;
    std::int64_t argument_bytes;
  };
  host::Module module_;
  std::vector<Function> functions_;
};

}  // namespace

std::string device_text(const std::string& text) {
  return device_preamble + text;
}

std::unique_ptr<Program> emulate(const std::string& text, const std::vector<KernelName>& kernels, EmulatedOrder order,
                                 const Communicator& comm) {
  return std::make_unique<OnHost>(text, kernels, order, comm);
}

}  // namespace hindsight::cuda
