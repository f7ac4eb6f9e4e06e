#include "runtime/fresh_memory.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/host_allocation.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t huge_page = std::int64_t{2} << 20U;
/// Memory did not lie ready when writing it takes so much longer than writing it again, which takes so long at least:
/// seconds of a byte. Pages that the system has take a few times as long, what it asks for dozens.
constexpr double much_longer = 12, fastest = 0.5e-10;

}  // namespace

FreshMemory::~FreshMemory() {
  for (void* const piece : pieces_) free_host(piece, std::max(piece_, huge_page));
}

void FreshMemory::write_piece() {
  void* const piece = allocate_host(std::max(piece_, huge_page), piece_ < huge_page ? 64 : huge_page);
  pieces_.push_back(piece);
  const auto write = [&](int value) {
    return seconds_of([&] { std::memset(piece, value, static_cast<std::size_t>(piece_)); });
  };
  const double first = write(1), again = write(2);
  Writes& writes = first > much_longer * std::max(again, fastest * static_cast<double>(piece_)) ? unready_ : ready_;
  writes.seconds += first;
  ++writes.pieces;
  again_.seconds += again;
  ++again_.pieces;
}

void FreshMemory::write_up_to(std::int64_t bytes) {
  while (this->bytes() < bytes && !has_met_unready()) write_piece();
}

double FreshMemory::ready_seconds() const {
  constexpr double with_faults = 2;
  return ready_.pieces > 0 ? ready_.of_byte(piece_) : with_faults * again_.of_byte(piece_);
}

}  // namespace hindsight
