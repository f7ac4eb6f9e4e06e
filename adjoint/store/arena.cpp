#include "adjoint/store/arena.hpp"

#include <algorithm>
#include <utility>

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

PageArena::Use::Use(PageArena& arena) : arena_(arena), lock_(arena.mutex_), is_used_(arena.next_.size(), false) {}

bool PageArena::Use::take(std::span<const std::int64_t> chain) {
  const auto is_free = [&](std::int64_t page) {
    return page >= 0 && page < std::ssize(is_used_) && !is_used_[static_cast<std::size_t>(page)];
  };
  std::size_t taken = 0;
  for (; taken < chain.size() && is_free(chain[taken]); ++taken)
    is_used_[static_cast<std::size_t>(chain[taken])] = true;
  if (taken == chain.size() && !chain.empty()) {
    for (std::size_t i = 0; i < chain.size(); ++i)
      arena_.next_[static_cast<std::size_t>(chain[i])] = i + 1 < chain.size() ? chain[i + 1] : none;
    return true;
  }
  while (taken-- > 0) is_used_[static_cast<std::size_t>(chain[taken])] = false;
  return false;
}

PageArena::Use::~Use() {
  const auto pages = std::ssize(is_used_);
  arena_.first_free_ = none;
  arena_.free_count_ = 0;
  for (std::int64_t p = pages; p-- > 0;) {
    if (is_used_[static_cast<std::size_t>(p)]) continue;
    arena_.next_[static_cast<std::size_t>(p)] = std::exchange(arena_.first_free_, p);
    ++arena_.free_count_;
  }
  arena_.peak_ = pages - arena_.free_count_;
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
