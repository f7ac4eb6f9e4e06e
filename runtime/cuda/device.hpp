// CUDA devices as this build and this machine have them. Everything that needs the CUDA toolkit is behind this; without
// it, device_absent.cpp takes its place.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device_program.hpp"
#include "runtime/launch_batches.hpp"
#include "runtime/machine.hpp"

namespace hindsight::cuda {

struct DeviceReport {
  bool toolkit = false;      ///< built with the CUDA toolkit
  int devices = 0;           ///< usable devices on this machine
  std::string architecture;  ///< of the first, "sm_90"
  std::string sentence;      ///< one sentence for a person: what is there, or why nothing is
};

/// Never throws and never crashes, whether or not a driver is installed.
DeviceReport report();

/// Whether this MPI says that it takes addresses of devices.
bool mpi_takes_devices();

/// One device. What it is asked for is done in order; copies are done when the call returns. Errors of CUDA, also those
/// of earlier kernels, are ResourceErrors that name the call.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// The same for two processes that use the same device, whatever they call it.
  virtual std::array<char, 16> identity() const = 0;
  /// "sm_90"
  virtual std::string architecture() const = 0;
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  virtual void clear(void* memory, std::int64_t bytes) = 0;
  /// Either side may be memory of the host.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void finish() = 0;
  virtual device::LaunchBatches& batches() = 0;
  virtual std::int64_t free_bytes() const = 0;
  /// Memory of the host that the device reads and writes itself.
  virtual void* allocate_pinned(std::int64_t bytes) = 0;
  virtual void free_pinned(void* memory) noexcept = 0;
  virtual std::unique_ptr<Event> event(Waiting waiting) = 0;
  virtual std::unique_ptr<Link> link() = 0;
  /// @param cubin machine code for this device's architecture.
  virtual std::unique_ptr<device::Program> load(std::string cubin, const std::vector<device::KernelName>& kernels) = 0;
};

/// @param number from 0. @throws ResourceError when there is no such device.
std::unique_ptr<Device> open_device(int number);

}  // namespace hindsight::cuda
