#include "runtime/emulated/emulate.hpp"

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/host/compiler.hpp"
#include "runtime/subnormals.hpp"

namespace hindsight::emulated {
namespace {

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

class OnHost final : public device::Program {
 public:
  OnHost(const std::string& text, const std::vector<device::KernelName>& kernels, Order order,
         const Communicator& comm) {
    std::string all = text.starts_with(flushes_subnormals) ? flushes_subnormals : "";
    all += std::string(host::c_names) + subnormals_text + host_preamble;
    all += (order == Order::forwards ? forwards : backwards) + text;
    for (const device::KernelName& kernel : kernels)
      all += fmt::format(
          "static __attribute__((noinline)) void {0}_within(const void* with, integer blocks) {{\n"
          "EACH_BLOCK(blocks) {0}(with, b);\n}}\n"
          "void {0}_blocks(const void* with, integer blocks) {{\nSUBNORMALS_FLUSHED({0}_within(with, blocks));\n}}\n"
          "integer {0}_bytes(void) {{\nreturn sizeof(struct {0}_arguments);\n}}\n",
          kernel.name);
    module_ = host::compile(all, comm);
    for (const device::KernelName& kernel : kernels)
      functions_.push_back({reinterpret_cast<Run>(module_.function(kernel.name + "_blocks")),
                            reinterpret_cast<Bytes>(module_.function(kernel.name + "_bytes"))()});
  }
  void run(std::size_t kernel, device::Arguments arguments, std::int64_t blocks) override {
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

std::unique_ptr<device::Program> emulate(const std::string& text, const std::vector<device::KernelName>& kernels,
                                         Order order, const Communicator& comm) {
  return std::make_unique<OnHost>(text, kernels, order, comm);
}

}  // namespace hindsight::emulated
