#include "src/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "src/error.hpp"

namespace hindsight {
namespace {

[[noreturn]] void not_of_the_host() {
  throw Error(ExitCode::bug, "the host was asked what only devices do");
}

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

std::unique_ptr<Event> HostMachine::event(Waiting) {
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

}  // namespace hindsight
