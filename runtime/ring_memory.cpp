#include "runtime/ring_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t page = 4096;
// A process may have some 65000 mappings in all.
constexpr std::int64_t most_turns = 1024;

struct Ring {
  std::int64_t from = 0, to = 0, period = 0;  // bytes from the begin of an array; whole pages
};

Ring ring_of(const RingMemory::Layout& layout, std::int64_t array) {
  const std::int64_t begin = array * layout.stride;
  Ring ring;
  ring.from = rounded_up(begin + layout.lower, page);
  ring.to = (begin + layout.stride - layout.upper) / page * page;
  ring.period = std::max(rounded_up(layout.window, page), rounded_up((ring.to - ring.from) / most_turns, page));
  return ring;
}

}  // namespace

bool RingMemory::pays(const Layout& layout) {
  const Ring ring = ring_of(layout, 0);
  return ring.to - ring.from > 2 * ring.period;
}

RingMemory::RingMemory(const Layout& layout) : bytes_(rounded_up(layout.arrays * layout.stride, page)) {
  std::int64_t taken = bytes_;
  for (std::int64_t array = 0; array < layout.arrays; ++array) {
    const Ring ring = ring_of(layout, array);
    taken -= ring.to - ring.from - ring.period;
  }
  counted_ = std::make_unique<CountedBytes>(taken);
  begin_ = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin_ == MAP_FAILED) {
    begin_ = nullptr;
    throw ResourceError(std::string("cannot map memory: ") + std::strerror(errno));
  }
  try {
    for (std::int64_t array = 0; array < layout.arrays; ++array) {
      const Ring ring = ring_of(layout, array);
      map_ring(ring.from, ring.to, ring.period);
    }
  } catch (...) {
    release();
    throw;
  }
}

void RingMemory::map_ring(std::int64_t from, std::int64_t to, std::int64_t period) {
  const int file = memfd_create("hindsight-ring", MFD_CLOEXEC);
  bool works = file >= 0 && ftruncate(file, period) == 0;
  for (std::int64_t at = from; at < to && works; at += period) {
    const auto bytes = static_cast<std::size_t>(std::min(period, to - at));
    works = mmap(static_cast<char*>(begin_) + at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                 file, 0) != MAP_FAILED;
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (!works) throw ResourceError(std::string("cannot map memory: ") + std::strerror(error));
}

RingMemory& RingMemory::operator=(RingMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  begin_ = std::exchange(other.begin_, nullptr);
  bytes_ = other.bytes_;
  counted_ = std::move(other.counted_);
  return *this;
}

void RingMemory::release() {
  if (begin_ != nullptr) munmap(begin_, static_cast<std::size_t>(bytes_));
  begin_ = nullptr;
  counted_.reset();
}

}  // namespace hindsight
