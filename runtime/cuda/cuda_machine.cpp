// A CUDA device as a machine.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/cuda/cuda_machine.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/host/host_machine.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

class PinnedMemory final : public HostMachine {
 public:
  explicit PinnedMemory(cuda::Device& device) : device_(device) {}
  void* allocate(std::int64_t bytes, std::int64_t) override { return device_.allocate_pinned(bytes); }  // pages
  void free(void* memory, std::int64_t) override { device_.free_pinned(memory); }

 private:
  cuda::Device& device_;
};

class CudaMachine final : public Machine {
 public:
  /// @param sharers processes that use the device.
  CudaMachine(std::shared_ptr<cuda::Device> device, int sharers)
      : CudaMachine(device, device->free_bytes() / sharers) {}
  std::string description() const override { return device_->name(); }
  bool is_host() const override { return false; }
  bool is_open_to_mpi() const override { return cuda::mpi_takes_devices(); }
  void* allocate(std::int64_t bytes, std::int64_t) override { return device_->allocate(bytes); }
  void free(void* memory, std::int64_t) override { device_->free(memory); }
  void clear(double* at, std::int64_t count) override { device_->clear(at, bytes_of(count)); }
  void copy(double* to, const double* from, std::int64_t count) override { device_->copy(to, from, bytes_of(count)); }
  void finish() override { device_->finish(); }
  std::unique_ptr<Machine> with_own_account() const override {
    return std::unique_ptr<Machine>(new CudaMachine(device_, free_bytes_));
  }
  std::int64_t free_bytes() const override { return free_bytes_ - account_->used(); }
  std::unique_ptr<Event> event(Waiting waiting) override { return device_->event(waiting); }
  std::int64_t batches_replayed() const override { return device_->batches().replayed(); }
  std::unique_ptr<Link> link() override { return device_->link(); }
  Machine& near_host() override { return pinned_; }
  std::unique_ptr<device::Program> load(const std::string& text, const std::vector<device::KernelName>& kernels,
                                        const Communicator& comm) override {
    std::string code = cuda::cached_code(cuda::device_text(text), device_->architecture(), comm);
    std::unique_ptr<device::Program> program;
    comm.together([&] { program = device_->load(std::move(code), kernels); });
    return program;
  }

 private:
  CudaMachine(std::shared_ptr<cuda::Device> device, std::int64_t free_bytes)
      : device_(std::move(device)), pinned_(*device_), free_bytes_(free_bytes) {
    account_ = std::make_shared<MemoryAccount>();
  }
  void begin_batch() override { device_->batches().begin(); }
  void end_batch() override { device_->batches().end(); }
  void abandon_batch() noexcept override { device_->batches().abandon(); }
  static std::int64_t bytes_of(std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(double)); }
  std::shared_ptr<cuda::Device> device_;
  PinnedMemory pinned_;
  std::int64_t free_bytes_;
};

}  // namespace

bool cuda::mpi_takes_devices() {
#if defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::unique_ptr<Machine> cuda::open_machine(const Communicator& comm) {
  MPI_Comm node = MPI_COMM_NULL;
  int place = 0, ranks = 1;
  MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_size(node, &ranks);
  std::unique_ptr<cuda::Device> device;
  comm.together([&] { device = cuda::open_device(place % std::max(1, cuda::report().devices)); });
  MPI_Barrier(node);  // what is free is read before anybody takes of it
  const std::array<char, 16> mine = device->identity();
  std::vector<std::array<char, 16>> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(mine.data(), 16, MPI_CHAR, all.data(), 16, MPI_CHAR, node);
  const auto sharers = static_cast<int>(std::count(all.begin(), all.end(), mine));
  std::unique_ptr<Machine> machine;
  comm.together([&] { machine = std::make_unique<CudaMachine>(std::move(device), sharers); });
  MPI_Barrier(node);
  MPI_Comm_free(&node);
  return machine;
}

}  // namespace hindsight
