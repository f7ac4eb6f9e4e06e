// A device without one, as contrary as a real one may be.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/emulated/emulate.hpp"
#include "runtime/emulated/emulated_device.hpp"
#include "runtime/error.hpp"
#include "runtime/launch_batches.hpp"
#include "runtime/memory.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

using emulated::Traits;

/// Its memory faults, except while it is at work: addresses in one piece, so that opening and closing them are one call
/// each, and none is used twice. Work is done as late as it may be: when somebody waits for it or copies from or to the
/// host. What nobody waits for is seen as it was before.
class EmulatedDevice final : public Machine {
 public:
  explicit EmulatedDevice(const Traits& traits) : traits_(traits), open_(traits.is_open_to_mpi ? 1 : 0) {
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
  bool is_open_to_mpi() const override { return traits_.is_open_to_mpi; }
  void* allocate(std::int64_t bytes, std::int64_t alignment) override {
    (void)alignment;  // pages
    const std::size_t size = rounded_up(static_cast<std::size_t>(bytes), page);
    const std::scoped_lock lock(mutex_);
    if (size > addresses - 2 * huge_page - used_) throw std::bad_alloc();
    if (open_ > 0) protect(begin_ + used_, begin_ + used_ + size, PROT_READ | PROT_WRITE);
    char* const memory = begin_ + std::exchange(used_, used_ + size);
    sizes_[memory] = size;
    return memory;
  }
  std::int64_t batches_replayed() const override { return batches_.replayed(); }
  void free(void* memory, std::int64_t) override {
    finish();
    const std::scoped_lock lock(mutex_);
    // Large pages that are this memory's alone; to give back parts of others would break them up.
    const auto offset = static_cast<std::size_t>(static_cast<char*>(memory) - begin_);
    const std::size_t first = rounded_up(offset, huge_page),
                      last = (offset + sizes_.at(memory)) / huge_page * huge_page;
    if (first < last) madvise(begin_ + first, last - first, MADV_DONTNEED);
    sizes_.erase(memory);
  }
  void clear(double* at, std::int64_t count) override {
    batches_.flush();
    ask([at, count] { std::memset(at, 0, bytes_of(count)); });
  }
  void copy(double* to, const double* from, std::int64_t count) override {
    batches_.flush();
    ask([to, from, count] { std::memmove(to, from, bytes_of(count)); });
    if (!is_here(to) || !is_here(from)) finish();
  }
  void finish() override {
    batches_.flush();
    work_until(asked_);
  }
  std::unique_ptr<Machine> with_own_account() const override { return emulated::open_machine(traits_); }
  std::int64_t free_bytes() const override { return traits_.bytes - account_->used(); }
  std::unique_ptr<Event> event(Waiting) override { return std::make_unique<Moment>(*this); }
  std::unique_ptr<Link> link() override { return std::make_unique<Copies>(*this); }
  Machine& near_host() override { return Machine::host(); }
  std::unique_ptr<device::Program> load(const std::string& text, const std::vector<device::KernelName>& kernels,
                                        const Communicator& comm) override {
    return std::make_unique<Late>(*this, emulated::emulate(text, kernels, traits_.order, comm));
  }

 private:
  void begin_batch() override { batches_.begin(); }
  void end_batch() override { batches_.end(); }
  void abandon_batch() noexcept override { batches_.abandon(); }
  /// Threads that copy may hold it open while kernels run.
  class Open {
   public:
    explicit Open(EmulatedDevice& device) : device_(device) {
      const std::scoped_lock lock(device_.mutex_);
      if (device_.open_++ == 0) device_.protect_all(PROT_READ | PROT_WRITE);
    }
    ~Open() {
      const std::scoped_lock lock(device_.mutex_);
      if (--device_.open_ == 0) device_.protect_all(PROT_NONE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    EmulatedDevice& device_;
  };
  class Moment final : public Event {
   public:
    explicit Moment(EmulatedDevice& device) : device_(device) {}
    void set() override {
      device_.batches_.flush();
      asked_ = device_.asked_;
    }
    std::int64_t asked() const { return asked_; }

   private:
    EmulatedDevice& device_;
    std::int64_t asked_ = -1;
  };
  class Late final : public device::Program {
   public:
    Late(EmulatedDevice& device, std::unique_ptr<device::Program> program)
        : device_(device), program_(std::move(program)) {}
    ~Late() override {
      device_.batches_.forget();
      device_.finish();
    }
    void run(std::size_t kernel, device::Arguments arguments, std::int64_t blocks) override {
      if (device_.batches_.is_open()) return device_.batches_.add({this, kernel, arguments, blocks});
      device_.ask(launch(kernel, arguments, blocks));
    }
    std::function<void()> launch(std::size_t kernel, device::Arguments arguments, std::int64_t blocks) {
      const auto* const bytes = static_cast<const char*>(arguments.data);
      std::vector<char> copied(bytes, bytes + arguments.bytes);
      return [this, kernel, copied = std::move(copied), blocks] {
        program_->run(kernel, device::Arguments(copied.data(), static_cast<std::int64_t>(copied.size())), blocks);
      };
    }

   private:
    EmulatedDevice& device_;
    std::unique_ptr<device::Program> program_;
  };
  /// Launches with the arguments that they had when it was made.
  class Replay final : public device::LaunchBatches::Graph {
   public:
    Replay(EmulatedDevice& device, device::Launches launches) : device_(device), launches_(std::move(launches)) {}
    void run() override {
      launches_.for_each([this](const auto& launch) { device_.ask_now(launch); });
    }

   private:
    EmulatedDevice& device_;
    device::Launches launches_;
  };
  class Copies final : public Link {
   public:
    explicit Copies(EmulatedDevice& device) : device_(device) {}
    void wait(const Event& event) override {
      const std::int64_t asked = static_cast<const Moment&>(event).asked();
      if (asked < 0) throw Error(ExitCode::bug, "a copy waits for no event");
      device_.work_until(asked);
    }
    void copy(double* to, const double* from, std::int64_t count) override {
      const Open open(device_);
      work();
      std::memmove(to, from, bytes_of(count));
    }
    void run(device::Program& program, std::size_t kernel, device::Arguments arguments, std::int64_t blocks) override {
      asked_.push_back(static_cast<Late&>(program).launch(kernel, arguments, blocks));
    }
    void finish() override {
      const Open open(device_);
      work();
    }

   private:
    void work() {
      for (const std::function<void()>& launch : asked_) launch();
      asked_.clear();
    }
    EmulatedDevice& device_;
    std::vector<std::function<void()>> asked_;
  };

  static constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20U, addresses = std::size_t{1} << 40U;
  static constexpr std::int64_t most_asked = 1000;  // like a device's queue of launches

  static std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(double); }
  bool is_here(const double* at) const {
    const auto* const byte = reinterpret_cast<const char*>(at);
    return byte >= begin_ && byte < begin_ + used_;
  }
  void ask_now(const device::Launches::Launch& launch) {
    ask(static_cast<Late&>(*launch.program).launch(launch.kernel, launch.arguments, launch.blocks));
  }
  void ask(std::function<void()> work) {
    bool is_full = false;
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(work));
      is_full = ++asked_ - done_ > most_asked;
    }
    if (is_full) work_until(asked_);
  }
  /// In order, by whoever waits.
  void work_until(std::int64_t asked) {
    const std::scoped_lock at_work(work_);
    if (done_ >= asked) return;
    const Open open(*this);
    while (done_ < asked) {
      std::function<void()> next;
      {
        const std::scoped_lock lock(mutex_);
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      ++done_;
      next();
    }
  }
  static void protect(char* from, char* to, int how) {
    if (mprotect(from, static_cast<std::size_t>(to - from), how) != 0) throw std::bad_alloc();
  }
  void protect_all(int how) const { protect(begin_, begin_ + rounded_up(used_, huge_page), how); }

  Traits traits_;
  std::mutex mutex_, work_;
  int open_;
  char *all_ = nullptr, *begin_ = nullptr;
  std::size_t used_ = 0;
  std::map<void*, std::size_t> sizes_;
  std::deque<std::function<void()>> queue_;
  device::LaunchBatches batches_{[this](const device::Launches::Launch& launch) { ask_now(launch); },
                                 [this](const device::Launches& all) { return std::make_unique<Replay>(*this, all); }};
  std::atomic<std::int64_t> asked_ = 0, done_ = 0;
};

}  // namespace

std::unique_ptr<Machine> emulated::open_machine(const Traits& traits) {
  return std::make_unique<EmulatedDevice>(traits);
}

}  // namespace hindsight
