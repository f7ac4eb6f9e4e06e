// Where arrays are and kernels run: this process's memory and cores, or a device's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/backend/cuda/program.hpp"
#include "src/communicator.hpp"

namespace hindsight {

/// What a simulation asks of it is done in order. One caller's thread.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string description() const = 0;
  /// Whether arrays can be read and written where they are, and kernels are C functions; else these are programs.
  virtual bool is_host() const = 0;

  virtual void* allocate(std::int64_t bytes, std::int64_t alignment) = 0;
  virtual void free(void* memory) = 0;
  virtual void clear(double* at, std::int64_t count) = 0;
  /// Either side may be an array of the machine's or of the host's.
  virtual void copy(double* to, const double* from, std::int64_t count) = 0;
  /// Collective. Not for the host.
  virtual std::unique_ptr<cuda::Program> load(const std::string& text, const std::vector<cuda::KernelName>& kernels,
                                              const Communicator& comm) = 0;

  /// An array's values, on the host.
  std::vector<double> values(const double* at, std::int64_t count) {
    std::vector<double> all(static_cast<std::size_t>(count));
    copy(all.data(), at, count);
    return all;
  }

  static Machine& host();
};

/// A CUDA device of this node; ranks of a node take them in turn. Collective. @throws ResourceError saying why there is
/// none.
std::unique_ptr<Machine> cuda_device(const Communicator& comm);

/// A device without one: programs for devices run by the host, on memory that nobody else can touch.
std::unique_ptr<Machine> emulated_device();

}  // namespace hindsight
