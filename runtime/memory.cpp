#include "runtime/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/rounding.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t huge_page = std::int64_t{2} << 20U;
constexpr std::int64_t page_bytes = 4096;
/// Doubles that are touched before it is asked whether the process is to stop.
constexpr std::int64_t piece = std::int64_t{4} << 20U;

thread_local std::shared_ptr<MemoryAccount> current_account;

bool is_large(std::int64_t doubles) {
  return doubles * static_cast<std::int64_t>(sizeof(double)) >= 2 * huge_page;
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
  take_anyway(bytes);
}

void MemoryAccount::take_anyway(std::int64_t bytes) {
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  overdrawn_ = std::max(overdrawn_, used_ - limit_);
}

CountMemory::CountMemory(std::shared_ptr<MemoryAccount> account)
    : outer_(std::exchange(current_account, std::move(account))) {}

const std::shared_ptr<MemoryAccount>& CountMemory::current() {
  return current_account;
}

CountMemory::~CountMemory() {
  current_account = std::move(outer_);
}

Memory::Memory(std::int64_t doubles, Machine& machine)
    : Memory(doubles, is_large(doubles) ? next_stagger() : 0, is_large(doubles) ? huge_page : 64, machine) {}

Memory Memory::pages(std::int64_t bytes, Machine& host) {
  return {rounded_up(bytes, page_bytes) / static_cast<std::int64_t>(sizeof(double)), 0, page_bytes, host};
}

Memory::Memory(std::int64_t doubles, std::int64_t offset, std::int64_t alignment, Machine& machine)
    : machine_(&machine),
      offset_(offset),
      size_(doubles),
      account_(machine.account() ? machine.account() : current_account) {
  if (account_) account_->take(bytes());
  try {
    block_ = static_cast<double*>(machine.allocate(std::max(bytes(), alignment), alignment));
    for (std::int64_t done = 0; done < size_; done += piece) {
      if (done > 0) stop_if_asked();  // what is small may be taken amid a step
      machine.clear(data() + done, std::min(piece, size_ - done));
    }
  } catch (...) {
    release();
    throw;
  }
}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this == &other) return *this;
  release();
  machine_ = other.machine_;
  block_ = std::exchange(other.block_, nullptr);
  offset_ = std::exchange(other.offset_, 0);
  size_ = std::exchange(other.size_, 0);
  account_ = std::move(other.account_);
  return *this;
}

void Memory::release() {
  if (block_ != nullptr) machine_->free(std::exchange(block_, nullptr), bytes());
  if (account_) account_->give_back(bytes());
  account_.reset();
}

void Memory::clear() {
  machine_->clear(data(), size_);
}

std::int64_t Memory::bytes_of(std::int64_t doubles) {
  return doubles * static_cast<std::int64_t>(sizeof(double)) + (is_large(doubles) ? most_stagger : 0);
}

}  // namespace hindsight
