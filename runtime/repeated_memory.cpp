#include "runtime/repeated_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// A file without a name, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::int64_t bytes) : file_(memfd_create("hindsight-rows", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::bad_alloc();
    if (ftruncate(file_, bytes) == 0) return;
    close(file_);
    throw std::bad_alloc();
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  bool map(char* to, std::size_t bytes) const {
    constexpr int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    return mmap(to, bytes, PROT_READ | PROT_WRITE, flags, file_, 0) != MAP_FAILED;
  }

 private:
  int file_;
};

}  // namespace

RepeatedMemory::RepeatedMemory(std::int64_t bytes) : counted_(std::make_unique<CountedBytes>(bytes)), bytes_(bytes) {
  if (bytes <= 0 || bytes % page != 0) throw Error(ExitCode::bug, "memory is repeated that is not of whole pages");
  const MemoryFile file(bytes);
  const auto each = static_cast<std::size_t>(bytes);
  void* const all = mmap(nullptr, times * each, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  first_ = static_cast<char*>(all);
  for (std::size_t n = 0; n < times; ++n) {
    if (file.map(first_ + n * each, each)) continue;
    munmap(first_, times * each);
    throw std::bad_alloc();
  }
}

RepeatedMemory::~RepeatedMemory() {
  if (first_ != nullptr) munmap(first_, times * static_cast<std::size_t>(bytes_));
}

}  // namespace hindsight
