// Pages of a medium, given to slots of any size.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/memory.hpp"

namespace hindsight {

/// A slot gets a chain of pages, anywhere: nothing is ever too scattered to be used, and of each slot less than one
/// page is wasted. Thread-safe; allocates memory only when it is made, and that counts (runtime/memory.hpp).
class PageArena {
 public:
  static constexpr std::int64_t none = -1;
  explicit PageArena(std::int64_t pages);
  /// Host memory that the table of a page takes.
  static constexpr std::int64_t table_bytes = sizeof(std::int64_t);
  /// The first page of a chain of `count` (at least one); none if fewer are free.
  std::int64_t allocate(std::int64_t count);
  void free(std::int64_t first);
  /// Begins with chains that an earlier process had in use, until it is destroyed: then all other pages are free.
  class Use {
   public:
    explicit Use(PageArena& arena);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// @returns false when the chain has pages that do not exist, or that an earlier one has or itself has twice.
    bool take(std::span<const std::int64_t> chain);

   private:
    PageArena& arena_;
    const std::scoped_lock<std::mutex> lock_;
    std::vector<bool> is_used_;
  };
  /// Takes a chain out of use for good, until clear(): its place on the medium failed. Only as many pages as `spare`
  /// say, counted over all calls; later chains are freed instead.
  void retire(std::int64_t first, std::int64_t spare);
  std::int64_t next(std::int64_t page) const { return next_[static_cast<std::size_t>(page)]; }
  std::int64_t in_use() const;
  std::int64_t peak() const;  ///< since clear()
  void clear();

 private:
  mutable std::mutex mutex_;
  CountedVector<std::int64_t> next_;  // in a chain, or in the list of free pages
  std::int64_t first_free_ = none, free_count_ = 0, retired_ = 0, peak_ = 0;
};

}  // namespace hindsight
