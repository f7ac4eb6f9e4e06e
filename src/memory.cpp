#include "src/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "src/error.hpp"

namespace hindsight {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;
constexpr std::int64_t page_bytes = 4096;

thread_local std::shared_ptr<MemoryAccount> current_account;

bool is_large(std::int64_t doubles) {
  return static_cast<std::size_t>(doubles) * sizeof(double) >= 2 * huge_page;
}

/// Large blocks all begin on a huge page; used from there, their cells would fall into the same cache sets. Each begins
/// a different number of cache lines later instead (in doubles, below 4 KiB).
std::int64_t next_stagger() {
  static std::atomic<std::int64_t> count{0};
  return 8 * (count.fetch_add(1) * 19 % 64);
}

}  // namespace

void MemoryAccount::take(std::int64_t bytes) {
  if (used_ + bytes > limit_)
    throw Error(ExitCode::bug, fmt::format("a block of {} bytes does not fit the budget of {} bytes, {} are in use",
                                           bytes, limit_, used_));
  used_ += bytes;
  peak_ = std::max(peak_, used_);
}

CountMemory::CountMemory(std::shared_ptr<MemoryAccount> account)
    : outer_(std::exchange(current_account, std::move(account))) {}

const std::shared_ptr<MemoryAccount>& CountMemory::current() {
  return current_account;
}

CountMemory::~CountMemory() {
  current_account = std::move(outer_);
}

Memory::Memory(std::int64_t doubles)
    : Memory(doubles, is_large(doubles) ? next_stagger() : 0, is_large(doubles) ? huge_page : 64) {}

Memory Memory::pages(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  return {rounded / static_cast<std::int64_t>(sizeof(double)), 0, static_cast<std::size_t>(page_bytes)};
}

Memory::Memory(std::int64_t doubles, std::int64_t offset, std::size_t alignment)
    : offset_(offset), size_(doubles), account_(current_account) {
  if (account_) account_->take(bytes());
  void* memory = nullptr;
  const std::size_t size = std::max(static_cast<std::size_t>(bytes()), alignment);
  if (posix_memalign(&memory, alignment, size) != 0) {
    release();
    throw std::bad_alloc();
  }
  if (alignment == huge_page) madvise(memory, size, MADV_HUGEPAGE);  // fewer page faults and TLB misses
  block_.reset(static_cast<double*>(memory));
  clear();
}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this == &other) return *this;
  release();
  block_ = std::move(other.block_);
  offset_ = std::exchange(other.offset_, 0);
  size_ = std::exchange(other.size_, 0);
  account_ = std::move(other.account_);
  return *this;
}

void Memory::release() {
  if (account_) account_->give_back(bytes());
  account_.reset();
  block_.reset();
}

void Memory::clear() {
  std::fill_n(data(), size_, 0.0);
}

std::int64_t Memory::bytes_of(std::int64_t doubles) {
  return doubles * static_cast<std::int64_t>(sizeof(double)) + (is_large(doubles) ? most_stagger : 0);
}

void Memory::Free::operator()(double* p) const {
  std::free(p);
}

}  // namespace hindsight
