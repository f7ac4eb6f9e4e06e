#include "adjoint/problem/state_arrays.hpp"

#include <vector>

namespace hindsight {
namespace {

/// In global indices.
Box box_of(const StateArray& array) {
  Box box{array.first, array.first};
  for (std::size_t a = 0; a < 3; ++a) box.hi[a] += array.cells[a];
  return box;
}

/// Calls visit(place) for the owned cells of an array, x fastest; places are in elements.
template <class Visit>
void each_cell(const StateArray& array, Visit visit) {
  for (std::int64_t k = 0; k < array.cells[2]; ++k)
    for (std::int64_t j = 0; j < array.cells[1]; ++j)
      for (std::int64_t i = 0; i < array.cells[0]; ++i)
        visit(array.origin + i + array.stride_y * j + array.stride_z * k);
}

/// The owned cells of an array, which doubles hold exactly. @param state on the host.
std::vector<double> values_of(const StateArray& array, const double* state) {
  std::vector<double> values;
  const auto* const singles = reinterpret_cast<const float*>(state);
  each_cell(array, [&](std::int64_t at) {
    values.push_back(array.element == Element::float32 ? static_cast<double>(singles[at]) : state[at]);
  });
  return values;
}

void set_values(const StateArray& array, const std::vector<double>& values, double* state) {
  auto next = values.begin();
  auto* const singles = reinterpret_cast<float*>(state);
  each_cell(array, [&](std::int64_t at) {
    if (array.element == Element::float32) {
      singles[at] = static_cast<float>(*next++);
    } else {
      state[at] = *next++;
    }
  });
}

}  // namespace

void save_arrays(BlockWriter& to, std::span<const StateArray> arrays, const double* block) {
  for (const StateArray& array : arrays) to.block(box_of(array), values_of(array, block));
}

void restore_arrays(BlockReader& from, std::span<const StateArray> arrays, double* block) {
  for (const StateArray& array : arrays) {
    std::vector<double> values(static_cast<std::size_t>(array.count()));
    from.block(box_of(array), values);
    set_values(array, values, block);
  }
}

}  // namespace hindsight
