#include "adjoint/store/checkpoints.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace hindsight {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps, and spins the last bit: sleeping alone is too coarse for short transfers.
void wait_until(Clock::time_point end) {
  constexpr auto coarse = std::chrono::microseconds(200);
  if (end - Clock::now() > coarse) std::this_thread::sleep_until(end - coarse);
  while (Clock::now() < end) {
  }
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

DelayedMemory::DelayedMemory(std::int64_t slots, std::int64_t doubles_each, double write_seconds, double read_seconds)
    : slots_(slots),
      each_(doubles_each),
      write_seconds_(write_seconds),
      read_seconds_(read_seconds),
      memory_(slots * doubles_each) {}

void DelayedMemory::write(std::int64_t slot, const double* state) {
  const Clock::time_point end = after(write_seconds_);
  std::memcpy(memory_.data() + slot * each_, state, static_cast<std::size_t>(each_) * sizeof(double));
  wait_until(end);
}

void DelayedMemory::read(std::int64_t slot, double* state) {
  const Clock::time_point end = after(read_seconds_);
  std::memcpy(state, memory_.data() + slot * each_, static_cast<std::size_t>(each_) * sizeof(double));
  wait_until(end);
}

Checkpoints::Checkpoints(std::int64_t host_units, std::int64_t record_units, Pool& states,
                         std::array<SlotStore*, tier_count> others)
    : record_units_(record_units), states_(states), host_(static_cast<std::size_t>(host_units)), others_(others) {}

StepRecord Checkpoints::read(Slot slot) {
  StepRecord record{states_.acquire(), {}};
  other(slot.tier).read(slot.index, record.base.data());
  return record;
}

void Checkpoints::clear() {
  std::fill(host_.begin(), host_.end(), StepRecord{});
  in_use_ = peak_ = {};
}

}  // namespace hindsight
