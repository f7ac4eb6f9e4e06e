#include "runtime/host_allocation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t page = 4096, huge_page = std::int64_t{2} << 20U;

bool has_own_pages(std::int64_t bytes) {
  return bytes >= std::int64_t{64} << 10U;
}

std::int64_t whole_pages(std::int64_t bytes) {
  return rounded_up(bytes, page);
}

void give_back(char* begin, std::int64_t bytes) noexcept {
  if (bytes > 0) munmap(begin, static_cast<std::size_t>(bytes));
}

/// Takes more than is asked for, and gives back what is not aligned.
char* map_pages(std::int64_t bytes, std::int64_t alignment) {
  const std::int64_t more = std::max<std::int64_t>(0, alignment - page);
  void* const all =
      mmap(nullptr, static_cast<std::size_t>(bytes + more), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const first = static_cast<char*>(all);
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) %
                                                static_cast<std::uintptr_t>(std::max(alignment, page)));
  const std::int64_t before = beyond > 0 ? alignment - beyond : 0;
  give_back(first, before);
  give_back(first + before + bytes, more - before);
  return first + before;
}

}  // namespace

void* allocate_host(std::int64_t bytes, std::int64_t alignment) {
  void* memory = nullptr;
  if (has_own_pages(bytes)) {
    memory = map_pages(whole_pages(bytes), alignment);
    // Whole huge pages: fewer page faults and TLB misses.
    if (alignment >= huge_page) madvise(memory, static_cast<std::size_t>(whole_pages(bytes)), MADV_HUGEPAGE);
  } else if (posix_memalign(&memory, static_cast<std::size_t>(std::max<std::int64_t>(alignment, sizeof(void*))),
                            static_cast<std::size_t>(bytes)) != 0) {
    throw std::bad_alloc();
  }
  return memory;
}

void free_host(void* memory, std::int64_t bytes) noexcept {
  if (has_own_pages(bytes)) {
    give_back(static_cast<char*>(memory), whole_pages(bytes));
  } else {
    std::free(memory);
  }
}

}  // namespace hindsight
