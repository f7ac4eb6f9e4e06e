#include "solvers/steppers/tables.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace hindsight {
namespace {

/// Large blocks all begin on a huge page; used from there, their cells would fall into the same cache sets. Each begins
/// a different number of cache lines later instead (in doubles, below 4 KiB).
std::int64_t next_stagger() {
  static std::atomic<std::int64_t> count{0};
  return 8 * (count.fetch_add(1) * 19 % 64);
}

}  // namespace

Memory::Memory(std::int64_t doubles) : size_(doubles) {
  constexpr std::size_t huge_page = std::size_t{2} << 20U;
  std::size_t bytes = static_cast<std::size_t>(doubles) * sizeof(double);
  const bool is_large = bytes >= 2 * huge_page;
  const std::size_t alignment = is_large ? huge_page : 64;
  offset_ = is_large ? next_stagger() : 0;
  bytes += static_cast<std::size_t>(offset_) * sizeof(double);
  bytes = std::max(bytes + alignment - 1, alignment) / alignment * alignment;
  auto* memory = static_cast<double*>(std::aligned_alloc(alignment, bytes));
  if (!memory) throw std::bad_alloc();
  if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);  // fewer page faults and TLB misses
  block_.reset(memory);
  clear();
}

void Memory::clear() {
  std::fill_n(data(), size_, 0.0);
}
void Memory::Free::operator()(double* p) const {
  std::free(p);
}

Tables::Tables(const Graph& graph, const Grid& grid, int sums)
    : grid_(grid),
      fields_(graph.fields().size(), nullptr),
      scalars_(graph.scalars().size(), 0.0),
      sums_(static_cast<std::size_t>(sums), nullptr) {
  for (int axis = 0; axis < 3; ++axis) coordinates_[static_cast<std::size_t>(axis)] = grid.coordinates(axis);
}

void Tables::allocate(const std::vector<int>& symbols) {
  if (symbols.empty()) return;
  owned_.emplace_back(state_doubles(grid_, symbols.size()));
  bytes_ += owned_.back().size() * static_cast<std::int64_t>(sizeof(double));
  bind_state(symbols, owned_.back().data());
}

Launch Tables::launch_block(const Box& box) const {
  const Layout& layout = grid_.layout();
  const bool rows_are_cells = grid_.dimensions() <= 1;
  return {fields_.data(),
          scalars_.data(),
          coordinates_.data(),
          sums_.data(),
          {box.lo[0], box.lo[1], box.lo[2]},
          {box.hi[0], box.hi[1], box.hi[2]},
          layout.stride_y,
          layout.stride_z,
          rows_are_cells ? 0 : 1,
          rows_are_cells ? 0 : grid_.cells()[1]};
}

void Tables::launch(KernelFunction kernel, const Box& box) const {
  if (box.is_empty()) return;
  const Launch block = launch_block(box);
  kernel(&block);
}

std::int64_t state_doubles(const Grid& grid, std::size_t fields) {
  return grid.layout().field_stride * static_cast<std::int64_t>(fields);
}

}  // namespace hindsight
