#include "runtime/fresh_memory.hpp"

#include <algorithm>

#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {

FreshMemory::FreshMemory(std::int64_t piece)
    : doubles_((2 * piece - Memory::bytes_of(piece / 8)) / 8) {}  // what bytes_of() adds has a place in the piece

void FreshMemory::take_piece() {
  // It did not lie ready when writing it takes so much longer than writing it again, which takes so many seconds of a
  // byte at least: pages that the system has take a few times as long, what it asks for dozens.
  constexpr double much_longer = 12, fastest = 0.5e-10;
  const double first = seconds_of([&] { pieces_.emplace_back(doubles_); });
  const double again = seconds_of([&] { pieces_.back().clear(); });
  const bool lay_ready = first <= much_longer * std::max(again, fastest * static_cast<double>(piece_bytes()));
  (lay_ready ? ready_ : unready_).add(first);
  again_.add(again);
}

void FreshMemory::take_up_to(std::int64_t bytes) {
  while (this->bytes() + Memory::bytes_of(doubles_) <= bytes && !has_met_unready()) {
    stop_if_asked();
    take_piece();
  }
}

double FreshMemory::ready_seconds() const {
  constexpr double with_faults = 2;
  return ready_.pieces > 0 ? of_byte(ready_) : with_faults * of_byte(again_);
}

}  // namespace hindsight
