#include "adjoint/problem/broken_adjoint.hpp"

#include <algorithm>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

std::vector<std::vector<double>> read(const AdjointMemory& memory) {
  std::vector<std::vector<double>> arrays;
  for (const CellArray& cells : memory.cells) arrays.push_back(unpadded(memory.grid, cells));
  for (const Memory* sums : memory.sums) arrays.push_back(memory.grid.machine().values(sums->data(), sums->size()));
  return arrays;
}

void write(const AdjointMemory& memory, const std::vector<std::vector<double>>& arrays) {
  auto next = arrays.begin();
  for (const CellArray& cells : memory.cells) unpack_cells(memory.grid, (next++)->data(), cells);
  for (const Memory* sums : memory.sums) memory.grid.machine().copy(sums->data(), (next++)->data(), sums->size());
}

}  // namespace

const std::vector<std::string>& BrokenAdjoint::parts() {
  static const std::vector<std::string> parts{"steps", "integrals", "misfits", "initial", "walls"};
  return parts;
}

void BrokenAdjoint::set(const std::string& what, double size, const std::vector<Unknown>& unknowns) {
  std::vector<std::string> known = parts();
  known.emplace_back("all");
  for (const Unknown& unknown : unknowns) known.push_back(unknown.label());
  if (std::find(known.begin(), known.end(), what) == known.end())
    throw InputError("'" + what + "' cannot be broken" + did_you_mean(what, known) + " (there are: " + join(known) +
                     ")");
  what_ = what;
  size_ = size;
}

void BrokenAdjoint::scale_increments(const std::vector<double>& before, std::vector<double>& after) const {
  for (std::size_t i = 0; i < after.size(); ++i) after[i] += size_ * (after[i] - before[i]);
}

void BrokenAdjoint::scale_increments(const char* part, const DerivativeSums& before, DerivativeSums& after) const {
  if (!is_part(part)) return;
  scale_increments(before.scalars, after.scalars);
  for (std::size_t q = 0; q < after.knots.size(); ++q) scale_increments(before.knots[q], after.knots[q]);
}

void BrokenAdjoint::scale(const Unknown& unknown, std::vector<double>& derivatives) const {
  if (size_ == 0.0 || (what_ != "all" && what_ != unknown.label())) return;
  scale_increments(std::vector<double>(derivatives.size(), 0.0), derivatives);
}

void BrokenAdjoint::contribute(const std::function<AdjointMemory()>& memory, const std::function<void()>& work) const {
  const std::vector<std::vector<double>> before = read(memory());
  work();
  std::vector<std::vector<double>> after = read(memory());
  for (std::size_t i = 0; i < after.size(); ++i) scale_increments(before[i], after[i]);
  write(memory(), after);
}

}  // namespace hindsight
