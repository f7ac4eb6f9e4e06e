#include "runtime/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "runtime/error.hpp"

namespace hindsight::cuda {
namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw ResourceError(std::string("CUDA failed: ") + call + ": " + cudaGetErrorString(status));
}

std::string architecture_of(const cudaDeviceProp& properties) {
  return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
}

/// Unloads a library, whoever fails after it was loaded.
struct Library {
  explicit Library(const std::string& cubin) {
    check(cudaLibraryLoadData(&handle, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
  }
  ~Library() { cudaLibraryUnload(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  cudaLibrary_t handle = nullptr;
};

class LoadedProgram final : public device::Program {
 public:
  LoadedProgram(std::string cubin, const std::vector<device::KernelName>& kernels, device::LaunchBatches& batches)
      : cubin_(std::move(cubin)), library_(cubin_), batches_(batches) {
    for (const device::KernelName& kernel : kernels) {
      kernels_.push_back({nullptr, kernel});
      check(cudaLibraryGetKernel(&kernels_.back().handle, library_.handle, kernel.name.c_str()),
            "cudaLibraryGetKernel");
    }
  }
  ~LoadedProgram() override { batches_.forget(); }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;
  void run(std::size_t kernel, device::Arguments arguments, std::int64_t blocks) override {
    if (batches_.is_open()) return batches_.add({this, kernel, arguments, blocks});
    launch(kernel, arguments, blocks, nullptr);
  }
  void launch(std::size_t kernel, device::Arguments arguments, std::int64_t blocks, cudaStream_t stream) const {
    const Loaded& loaded = kernels_[kernel];
    if (blocks == 0) return;
    if (blocks > most_blocks) throw Error(ExitCode::bug, "too many blocks for " + loaded.facts.name);
    void* parameters[] = {const_cast<void*>(arguments.data)};
    const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(loaded.facts.threads));
    const cudaError_t status =
        cudaLaunchKernel(reinterpret_cast<const void*>(loaded.handle), grid, block, parameters, 0, stream);
    if (status != cudaSuccess) check(status, ("the launch of " + loaded.facts.name).c_str());
  }

 private:
  struct Loaded {
    cudaKernel_t handle;
    device::KernelName facts;
  };
  static constexpr std::int64_t most_blocks = 0x7fffffff;
  std::string cubin_;  // lives as long as the library
  Library library_;
  std::vector<Loaded> kernels_;
  device::LaunchBatches& batches_;
};

/// Launches captured from a stream of their own, to go into the one in which kernels run.
class CapturedGraph final : public device::LaunchBatches::Graph {
 public:
  CapturedGraph(const device::Launches& launches, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      launches.for_each([&](const device::Launches::Launch& l) {
        static_cast<const LoadedProgram*>(l.program)->launch(l.kernel, l.arguments, l.blocks, stream);
      });
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
  }
  ~CapturedGraph() override { cudaGraphExecDestroy(graph_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void run() override { check(cudaGraphLaunch(graph_, nullptr), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(device::LaunchBatches& batches, Waiting waiting) : batches_(batches) {
    const unsigned sleeps = waiting == Waiting::sleeps ? cudaEventBlockingSync : cudaEventDefault;
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | sleeps), "cudaEventCreateWithFlags");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void set() override {
    batches_.flush();
    check(cudaEventRecord(event_, nullptr), "cudaEventRecord");
  }
  cudaEvent_t handle() const { return event_; }

 private:
  device::LaunchBatches& batches_;
  cudaEvent_t event_ = nullptr;
};

/// A stream beside the one in which kernels run.
class Stream final : public Link {
 public:
  explicit Stream(int device) : device_(device) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Stream() override { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void wait(const Event& event) override {
    check(cudaSetDevice(device_), "cudaSetDevice");  // of this thread
    check(cudaEventSynchronize(static_cast<const CudaEvent&>(event).handle()), "cudaEventSynchronize");
  }
  void copy(double* to, const double* from, std::int64_t count) override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  void run(device::Program& program, std::size_t kernel, device::Arguments arguments, std::int64_t blocks) override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    static_cast<const LoadedProgram&>(program).launch(kernel, arguments, blocks, stream_);
  }
  void finish() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

class RealDevice final : public Device {
 public:
  explicit RealDevice(int number) : number_(number) {
    check(cudaSetDevice(number), "cudaSetDevice");
    check(cudaGetDeviceProperties(&properties_, number), "cudaGetDeviceProperties");
    check(cudaStreamCreateWithFlags(&captured_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~RealDevice() override { cudaStreamDestroy(captured_); }
  RealDevice(const RealDevice&) = delete;
  RealDevice& operator=(const RealDevice&) = delete;
  std::string name() const override { return properties_.name; }
  std::array<char, 16> identity() const override {
    std::array<char, 16> bytes{};
    std::copy_n(properties_.uuid.bytes, bytes.size(), bytes.begin());
    return bytes;
  }
  std::string architecture() const override { return architecture_of(properties_); }
  void* allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "cudaMalloc");
    return memory;
  }
  void free(void* memory) noexcept override {
    try {
      batches_.flush();
    } catch (const Error&) {  // nothing is gathered: memory made within a batch is cleared, which flushes
    }
    cudaFree(memory);
  }
  void clear(void* memory, std::int64_t bytes) override {
    batches_.flush();
    check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)), "cudaMemset");
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    batches_.flush();
    check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault), "cudaMemcpy");
  }
  void finish() override {
    batches_.flush();
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  device::LaunchBatches& batches() override { return batches_; }
  std::int64_t free_bytes() const override {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
  }
  void* allocate_pinned(std::int64_t bytes) override {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
  }
  void free_pinned(void* memory) noexcept override { cudaFreeHost(memory); }
  std::unique_ptr<Event> event(Waiting waiting) override { return std::make_unique<CudaEvent>(batches_, waiting); }
  std::unique_ptr<Link> link() override { return std::make_unique<Stream>(number_); }
  std::unique_ptr<device::Program> load(std::string cubin, const std::vector<device::KernelName>& kernels) override {
    return std::make_unique<LoadedProgram>(std::move(cubin), kernels, batches_);
  }

 private:
  int number_;
  cudaDeviceProp properties_{};
  cudaStream_t captured_ = nullptr;
  device::LaunchBatches batches_{
      [](const device::Launches::Launch& l) {
        static_cast<const LoadedProgram*>(l.program)->launch(l.kernel, l.arguments, l.blocks, nullptr);
      },
      [this](const device::Launches& all) { return std::make_unique<CapturedGraph>(all, captured_); }};
};

}  // namespace

DeviceReport report() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return {true, 0, "", "Built with the CUDA toolkit; no NVIDIA driver was found."};
  if (status != cudaSuccess)
    return {true, 0, "",
            std::string("Built with the CUDA toolkit; no usable device: ") + cudaGetErrorString(status) + "."};
  cudaDeviceProp properties;
  if (count == 0 || cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
    return {true, 0, "", "Built with the CUDA toolkit; no device was found."};
  return {
      true, count, architecture_of(properties),
      "Built with the CUDA toolkit; " + std::to_string(count) + " device(s), the first is " + properties.name + "."};
}

std::unique_ptr<Device> open_device(int number) {
  if (const DeviceReport here = report(); number >= here.devices) throw ResourceError(here.sentence);
  return std::make_unique<RealDevice>(number);
}

}  // namespace hindsight::cuda
