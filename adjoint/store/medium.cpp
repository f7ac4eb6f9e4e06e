#include "adjoint/store/medium.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace hindsight {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps, and spins the last bit: sleeping alone is too coarse for short transfers.
void wait_until(Clock::time_point end) {
  constexpr auto coarse = std::chrono::microseconds(100);
  if (end - Clock::now() > coarse) std::this_thread::sleep_until(end - coarse);
  while (Clock::now() < end) {
  }
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

MemoryMedium::MemoryMedium(std::int64_t pages, std::int64_t page_bytes, Machine& host)
    : pages_(pages), page_bytes_(page_bytes), memory_(Memory::pages(pages * page_bytes, host)) {}

void MemoryMedium::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  std::memcpy(reinterpret_cast<char*>(memory_.data()) + offset, from, static_cast<std::size_t>(bytes));
}

void MemoryMedium::read(std::int64_t offset, void* to, std::int64_t bytes) {
  std::memcpy(to, reinterpret_cast<const char*>(memory_.data()) + offset, static_cast<std::size_t>(bytes));
}

ThrottledMedium::ThrottledMedium(std::unique_ptr<Medium> medium, double write_seconds_per_byte,
                                 double read_seconds_per_byte)
    : medium_(std::move(medium)), write_seconds_(write_seconds_per_byte), read_seconds_(read_seconds_per_byte) {}

void ThrottledMedium::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  const std::scoped_lock lock(one_at_a_time_);
  const Clock::time_point end = after(write_seconds_ * static_cast<double>(bytes));
  medium_->write(offset, from, bytes);
  wait_until(end);
}

void ThrottledMedium::read(std::int64_t offset, void* to, std::int64_t bytes) {
  const std::scoped_lock lock(one_at_a_time_);
  const Clock::time_point end = after(read_seconds_ * static_cast<double>(bytes));
  medium_->read(offset, to, bytes);
  wait_until(end);
}

}  // namespace hindsight
