#include "runtime/host/host_machine.hpp"

#include <algorithm>

#include "runtime/error.hpp"
#include "runtime/host_allocation.hpp"

namespace hindsight {
namespace {

[[noreturn]] void not_of_the_host() {
  throw Error(ExitCode::bug, "the host was asked what only devices do");
}

// Kernels may read a whole vector behind what they need (VectorText).
constexpr std::int64_t vector = 64;

}  // namespace

void* HostMachine::allocate(std::int64_t bytes, std::int64_t alignment) {
  return allocate_host(bytes + vector, alignment);
}

void HostMachine::free(void* memory, std::int64_t bytes) {
  free_host(memory, bytes + vector);
}

void HostMachine::clear(double* at, std::int64_t count) {
  std::fill_n(at, count, 0.0);
}

void HostMachine::copy(double* to, const double* from, std::int64_t count) {
  std::copy_n(from, count, to);
}

std::unique_ptr<Machine> HostMachine::with_own_account() const {
  not_of_the_host();
}

std::int64_t HostMachine::free_bytes() const {
  not_of_the_host();
}

std::unique_ptr<Event> HostMachine::event(Waiting) {
  not_of_the_host();
}

std::unique_ptr<Link> HostMachine::link() {
  not_of_the_host();
}

std::unique_ptr<device::Program> HostMachine::load(const std::string&, const std::vector<device::KernelName>&,
                                                   const Communicator&) {
  not_of_the_host();
}

Machine& Machine::host() {
  static HostMachine machine;
  return machine;
}

}  // namespace hindsight
