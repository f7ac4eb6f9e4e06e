#include "src/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "src/error.hpp"

namespace hindsight {
namespace {

class Host final : public Machine {
 public:
  std::string description() const override { return "host"; }
  bool is_host() const override { return true; }
  void* allocate(std::int64_t bytes, std::int64_t alignment) override {
    void* memory = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    if (posix_memalign(&memory, static_cast<std::size_t>(alignment), size) != 0) throw std::bad_alloc();
    // Whole huge pages: fewer page faults and TLB misses.
    if (alignment >= std::int64_t{2} << 20U) madvise(memory, size, MADV_HUGEPAGE);
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  void clear(double* at, std::int64_t count) override { std::fill_n(at, count, 0.0); }
  void copy(double* to, const double* from, std::int64_t count) override { std::copy_n(from, count, to); }
  std::unique_ptr<cuda::Program> load(const std::string&, const std::vector<cuda::KernelName>&,
                                      const Communicator&) override {
    throw Error(ExitCode::bug, "the host runs no programs for devices");
  }
};

/// Addresses that fault, except while a program or a copy runs. They are in one piece, so that opening and closing them
/// are one call each, and none is used twice.
class EmulatedDevice final : public Machine {
 public:
  EmulatedDevice() {
    void* const all = mmap(nullptr, addresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<char*>(all);
  }
  ~EmulatedDevice() override { munmap(begin_, addresses); }
  std::string description() const override { return "emulated CUDA device"; }
  bool is_host() const override { return false; }
  void* allocate(std::int64_t bytes, std::int64_t alignment) override {
    (void)alignment;  // pages
    const std::size_t size = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
    if (size > addresses - used_) throw std::bad_alloc();
    char* const memory = begin_ + std::exchange(used_, used_ + size);
    sizes_[memory] = size;
    return memory;
  }
  void free(void* memory) override {
    madvise(memory, sizes_.at(memory), MADV_DONTNEED);
    sizes_.erase(memory);
  }
  void clear(double* at, std::int64_t count) override {
    const Open open(*this);
    std::fill_n(at, count, 0.0);
  }
  void copy(double* to, const double* from, std::int64_t count) override {
    const Open open(*this);
    std::memmove(to, from, static_cast<std::size_t>(count) * sizeof(double));
  }
  std::unique_ptr<cuda::Program> load(const std::string& text, const std::vector<cuda::KernelName>& kernels,
                                      const Communicator& comm) override {
    return std::make_unique<Guarded>(*this, cuda::emulate(text, kernels, comm));
  }

 private:
  class Open {
   public:
    explicit Open(EmulatedDevice& device) : device_(device) { device_.protect(PROT_READ | PROT_WRITE); }
    ~Open() { device_.protect(PROT_NONE); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    EmulatedDevice& device_;
  };
  class Guarded final : public cuda::Program {
   public:
    Guarded(EmulatedDevice& device, std::unique_ptr<Program> program) : device_(device), program_(std::move(program)) {}
    void run(std::size_t kernel, const void* arguments, std::int64_t blocks) override {
      const Open open(device_);
      program_->run(kernel, arguments, blocks);
    }

   private:
    EmulatedDevice& device_;
    std::unique_ptr<Program> program_;
  };

  static constexpr std::size_t page = 4096, addresses = std::size_t{1} << 40U;

  void protect(int how) const { mprotect(begin_, used_, how); }
  char* begin_ = nullptr;
  std::size_t used_ = 0;
  std::map<void*, std::size_t> sizes_;
};

}  // namespace

Machine& Machine::host() {
  static Host machine;
  return machine;
}

std::unique_ptr<Machine> emulated_device() {
  return std::make_unique<EmulatedDevice>();
}

}  // namespace hindsight
