#include "runtime/cuda/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "runtime/error.hpp"
#include "runtime/kernel_cache.hpp"
#include "runtime/subnormals.hpp"

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

// The few calls that are made, as NVRTC's interface has had them since CUDA 11.1: so it is needed neither when this is
// compiled nor when no device computes.
using Program = struct ProgramTag*;

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Library {
  void* handle = nullptr;
  std::string why;
  int major = 0, minor = 0;

  int (*version)(int*, int*) = nullptr;
  const char* (*error)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;

  Library() {
    for (const std::string& path : paths())
      if (handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) break;
    if (handle == nullptr) {
      why = "NVRTC was not found: install the CUDA toolkit, or name its folder in CUDA_HOME";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = symbol<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(handle, name);
      if (function == nullptr) why = fmt::format("the NVRTC library that was found lacks {}", name);
    };
    find(version, "nvrtcVersion");
    find(error, "nvrtcGetErrorString");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    if (why.empty()) version(&major, &minor);
  }

  /// Beside the program (as a bundle has it), in CUDA_HOME, where the loader looks, where toolkits are.
  static std::vector<std::string> paths() {
    const std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    std::vector<std::string> folders;
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (!failed) folders.push_back(program.parent_path().string() + "/");
    if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/lib64/");
    folders.emplace_back("");
    folders.emplace_back("/usr/local/cuda/lib64/");
    std::vector<std::string> all;
    for (const std::string& folder : folders)
      for (const std::string& name : names) all.push_back(folder + name);
    return all;
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

class Compilation {
 public:
  Compilation(const Library& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    check(nvrtc_.create(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr));
  }
  ~Compilation() { nvrtc_.destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void run(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    check(nvrtc_.compile(program_, static_cast<int>(words.size()), words.data()));
  }
  std::string log() const { return text(nvrtc_.log_size, nvrtc_.log); }
  std::string cubin() const { return text(nvrtc_.cubin_size, nvrtc_.cubin); }

 private:
  void check(int status) const {
    if (status == 0) return;
    const std::string said = program_ != nullptr ? log() : "";
    throw ResourceError(
        fmt::format("NVRTC failed on the generated kernels: {}: {}", nvrtc_.error(status), said.substr(0, 2000)));
  }
  std::string text(int (*size_of)(Program, std::size_t*), int (*get)(Program, char*)) const {
    std::size_t size = 0;
    size_of(program_, &size);
    std::string bytes(size, '\0');
    get(program_, bytes.data());
    return bytes;
  }

  const Library& nvrtc_;
  Program program_ = nullptr;
};

std::vector<std::string> options_for(const std::string& source, const std::string& architecture) {
  const bool flushes = source.find(flushes_subnormals) != std::string::npos;
  return {"--gpu-architecture=" + architecture,
          "--fmad=false",
          std::string("--ftz=") + (flushes ? "true" : "false"),
          "--std=c++17",
          "-Xptxas",
          "-v"};
}

/// From what the assembler says of each kernel.
std::vector<device::KernelResources> resources(const std::string& log) {
  static const std::regex name("Compiling entry function '([^']+)'"),
      spills(R"((\d+) bytes spill stores, (\d+) bytes spill loads)"), used(R"(Used (\d+) registers)"),
      shared(R"((\d+) bytes smem)");
  std::vector<device::KernelResources> all;
  std::size_t begin = 0;
  while (begin < log.size()) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    std::smatch found;
    if (std::regex_search(line, found, name)) all.push_back({found[1], 0, 0, 0});
    if (all.empty()) continue;
    if (std::regex_search(line, found, spills)) all.back().spilled_bytes = std::stoi(found[1]) + std::stoi(found[2]);
    if (std::regex_search(line, found, used)) all.back().registers = std::stoi(found[1]);
    if (std::regex_search(line, found, shared)) all.back().shared_bytes = std::stoi(found[1]);
  }
  return all;
}

}  // namespace

std::string device_text(const std::string& text) {
  return device_preamble + text;
}

CompilerReport compiler_report() {
  const Library& nvrtc = library();
  if (!nvrtc.why.empty()) return {false, nvrtc.why};
  return {true, fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor)};
}

Cubin compile(const std::string& source, const std::string& architecture) {
  const Library& nvrtc = library();
  if (!nvrtc.why.empty()) throw ResourceError("kernels for the device cannot be compiled: " + nvrtc.why);
  Compilation compilation(nvrtc, source);
  compilation.run(options_for(source, architecture));
  return {compilation.cubin(), resources(compilation.log())};
}

std::string cached_code(const std::string& source, const std::string& architecture, const Communicator& comm) {
  std::string key = compiler_report().sentence, code;
  for (const std::string& option : options_for(source, architecture)) key += " " + option;
  comm.root_first([&] {
    const KernelCache cache(key, source, ".cu", ".cubin");
    const auto found = cache.find();
    code = read_bytes(found ? *found : cache.make([&](const auto&, const std::filesystem::path& object) {
      write_bytes(object, compile(source, architecture).code);
    }));
  });
  return code;
}

}  // namespace hindsight::cuda
