#include "runtime/repeated_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/error.hpp"

namespace hindsight {

std::int64_t RepeatedMemory::page() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

RepeatedMemory::RepeatedMemory(std::int64_t bytes) : counted_(std::make_unique<CountedBytes>(bytes)), bytes_(bytes) {
  if (bytes <= 0 || bytes % page() != 0) throw Error(ExitCode::bug, "memory is repeated that is not of whole pages");
  const auto each = static_cast<std::size_t>(bytes);
  void* const all = mmap(nullptr, times * each, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool is_there = all != MAP_FAILED;
  if (is_there) first_ = static_cast<char*>(all);
  constexpr int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE;
  is_there = is_there && mmap(first_, each, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
  // Of shared memory a size of zero asks for one more mapping of the same pages (mremap(2)).
  for (std::size_t n = 1; n < times; ++n)
    is_there = is_there && mremap(first_, 0, each, MREMAP_MAYMOVE | MREMAP_FIXED, first_ + n * each) != MAP_FAILED;
  if (is_there) return;
  const std::string why = std::strerror(errno);
  if (first_ != nullptr) munmap(first_, times * each);
  throw ResourceError(fmt::format("{} bytes for rows between the passes of a step are not there: {}", bytes, why));
}

RepeatedMemory::~RepeatedMemory() {
  if (first_ != nullptr) munmap(first_, times * static_cast<std::size_t>(bytes_));
}

}  // namespace hindsight
