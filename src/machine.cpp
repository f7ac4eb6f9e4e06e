#include "src/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "src/error.hpp"
#include "src/memory.hpp"

namespace hindsight {
namespace {

[[noreturn]] void not_of_the_host() {
  throw Error(ExitCode::bug, "the host was asked what only devices do");
}

/// Addresses that fault, except while a program or a copy runs. They are in one piece, so that opening and closing them
/// are one call each, and none is used twice.
class EmulatedDevice final : public Machine {
 public:
  explicit EmulatedDevice(std::int64_t bytes) : bytes_(bytes) {
    account_ = std::make_shared<MemoryAccount>();
    void* const all = mmap(nullptr, addresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    madvise(all, addresses, MADV_HUGEPAGE);  // to protect a few large pages is fast
    all_ = static_cast<char*>(all);
    begin_ = all_ + (huge_page - reinterpret_cast<std::uintptr_t>(all_) % huge_page);
  }
  ~EmulatedDevice() override { munmap(all_, addresses); }
  std::string description() const override { return "emulated CUDA device"; }
  bool is_host() const override { return false; }
  void* allocate(std::int64_t bytes, std::int64_t alignment) override {
    (void)alignment;  // pages
    const std::size_t size = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
    if (size > addresses - 2 * huge_page - used_) throw std::bad_alloc();
    char* const memory = begin_ + std::exchange(used_, used_ + size);
    sizes_[memory] = size;
    return memory;
  }
  void free(void* memory) override {
    // Large pages that are this memory's alone; to give back parts of others would break them up.
    const auto offset = static_cast<std::size_t>(static_cast<char*>(memory) - begin_);
    const std::size_t first = (offset + huge_page - 1) / huge_page * huge_page,
                      last = (offset + sizes_.at(memory)) / huge_page * huge_page;
    if (first < last) madvise(begin_ + first, last - first, MADV_DONTNEED);
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
  std::int64_t free_bytes() const override { return bytes_ - account_->used(); }
  std::unique_ptr<Event> event() override { return std::make_unique<Moment>(); }
  std::unique_ptr<Link> link() override { return std::make_unique<Copies>(*this); }
  Machine& near_host() override { return Machine::host(); }
  std::unique_ptr<cuda::Program> load(const std::string& text, const std::vector<cuda::KernelName>& kernels,
                                      const Communicator& comm) override {
    return std::make_unique<Guarded>(*this, cuda::emulate(text, kernels, comm));
  }

 private:
  /// Threads that copy may hold it open while kernels run.
  class Open {
   public:
    explicit Open(EmulatedDevice& device) : device_(device) {
      const std::scoped_lock lock(device_.mutex_);
      if (device_.open_++ == 0) device_.protect(PROT_READ | PROT_WRITE);
    }
    ~Open() {
      const std::scoped_lock lock(device_.mutex_);
      if (--device_.open_ == 0) device_.protect(PROT_NONE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    EmulatedDevice& device_;
  };
  /// What is asked is done at once, so it needs to be set, not waited for.
  class Moment final : public Event {
   public:
    void set() override { is_set_ = true; }
    bool is_set() const { return is_set_; }

   private:
    bool is_set_ = false;
  };
  class Copies final : public Link {
   public:
    explicit Copies(EmulatedDevice& device) : device_(device) {}
    void wait(const Event& event) override {
      if (!static_cast<const Moment&>(event).is_set()) throw Error(ExitCode::bug, "a copy waits for no event");
    }
    void copy(double* to, const double* from, std::int64_t count) override { device_.copy(to, from, count); }

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

  static constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20U, addresses = std::size_t{1} << 40U;

  void protect(int how) const {
    if (mprotect(begin_, (used_ + huge_page - 1) / huge_page * huge_page, how) != 0) throw std::bad_alloc();
  }
  std::int64_t bytes_;
  std::mutex mutex_;
  int open_ = 0;
  char *all_ = nullptr, *begin_ = nullptr;
  std::size_t used_ = 0;
  std::map<void*, std::size_t> sizes_;
};

}  // namespace

void* HostMachine::allocate(std::int64_t bytes, std::int64_t alignment) {
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  if (posix_memalign(&memory, static_cast<std::size_t>(alignment), size) != 0) throw std::bad_alloc();
  // Whole huge pages: fewer page faults and TLB misses.
  if (alignment >= std::int64_t{2} << 20U) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void HostMachine::free(void* memory) {
  std::free(memory);
}

void HostMachine::clear(double* at, std::int64_t count) {
  std::fill_n(at, count, 0.0);
}

void HostMachine::copy(double* to, const double* from, std::int64_t count) {
  std::copy_n(from, count, to);
}

std::int64_t HostMachine::free_bytes() const {
  not_of_the_host();
}

std::unique_ptr<Event> HostMachine::event() {
  not_of_the_host();
}

std::unique_ptr<Link> HostMachine::link() {
  not_of_the_host();
}

std::unique_ptr<cuda::Program> HostMachine::load(const std::string&, const std::vector<cuda::KernelName>&,
                                                 const Communicator&) {
  not_of_the_host();
}

Machine& Machine::host() {
  static HostMachine machine;
  return machine;
}

std::unique_ptr<Machine> emulated_device(std::int64_t bytes) {
  return std::make_unique<EmulatedDevice>(bytes);
}

}  // namespace hindsight
