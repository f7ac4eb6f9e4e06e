#include "adjoint/store/arena.hpp"

#include <algorithm>

namespace hindsight {

PageArena::PageArena(std::int64_t pages) : next_(static_cast<std::size_t>(pages)) {
  clear();
}

void PageArena::clear() {
  const std::scoped_lock lock(mutex_);
  const auto pages = static_cast<std::int64_t>(next_.size());
  for (std::int64_t p = 0; p < pages; ++p) next_[static_cast<std::size_t>(p)] = p + 1 < pages ? p + 1 : none;
  first_free_ = pages > 0 ? 0 : none;
  free_count_ = pages;
  retired_ = peak_ = 0;
}

std::int64_t PageArena::allocate(std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  if (count > free_count_) return none;
  const std::int64_t first = first_free_;
  std::int64_t last = first;
  for (std::int64_t i = 1; i < count; ++i) last = next(last);
  first_free_ = next(last);
  next_[static_cast<std::size_t>(last)] = none;
  free_count_ -= count;
  peak_ = std::max(peak_, static_cast<std::int64_t>(next_.size()) - free_count_ - retired_);
  return first;
}

void PageArena::free(std::int64_t first) {
  const std::scoped_lock lock(mutex_);
  std::int64_t last = first, count = 1;
  for (; next(last) != none; last = next(last)) ++count;
  next_[static_cast<std::size_t>(last)] = first_free_;
  first_free_ = first;
  free_count_ += count;
}

void PageArena::retire(std::int64_t first, std::int64_t spare) {
  {
    const std::scoped_lock lock(mutex_);
    std::int64_t count = 1;
    for (std::int64_t page = first; next(page) != none; page = next(page)) ++count;
    if (retired_ + count <= spare) {
      retired_ += count;
      return;
    }
  }
  free(first);
}

std::int64_t PageArena::in_use() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::int64_t>(next_.size()) - free_count_ - retired_;
}

std::int64_t PageArena::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

}  // namespace hindsight
