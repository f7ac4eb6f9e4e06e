#include "src/illumination.hpp"

#include <algorithm>
#include <cmath>

namespace hindsight {

Illumination::Illumination(const Simulation& simulation)
    : simulation_(simulation), changes_(simulation.spec().model.fields.size()) {
  const auto cells = static_cast<std::size_t>(simulation.grid().interior().cells());
  for (std::vector<double>& of_field : changes_) of_field.assign(cells, 0.0);
  sum_.assign(cells, 0.0);
}

/// The level before the first state is no state.
void Illumination::observe(std::int64_t k, StateBlocks state) {
  if (k == 0) return;
  const Grid& grid = simulation_.grid();
  const Layout& layout = grid.layout();
  const double h = simulation_.time().shortest().step, factor = 1.0 / (h * h * h);
  const Element element = simulation_.element();
  const std::int64_t size = doubles_of(element, layout.field_stride * std::ssize(changes_));
  const HostView now(simulation_.machine(), state.now, size), before(simulation_.machine(), state.before, size);
  const ConstCellArray values(now.data(), element), values_before(before.data(), element);
  for (std::size_t f = 0; f < changes_.size(); ++f) {
    std::size_t next = 0;
    const std::int64_t first = layout.field_stride * static_cast<std::int64_t>(f);
    for (std::int64_t z = 0; z < grid.cells()[2]; ++z)
      for (std::int64_t y = 0; y < grid.cells()[1]; ++y) {
        const std::int64_t row = first + layout.at(0, y, z);
        for (std::int64_t x = 0; x < grid.cells()[0]; ++x, ++next) {
          const double change = value_at(values, row + x) - value_at(values_before, row + x);
          const double second = change - changes_[f][next];
          if (k > 1) sum_[next] += factor * (second * second);
          changes_[f][next] = change;
        }
      }
  }
}

std::int64_t illumination_bytes(const Simulation& simulation) {
  const std::int64_t arrays = std::ssize(simulation.spec().model.fields) + 1;
  return arrays * simulation.grid().interior().cells() * std::int64_t{sizeof(double)};
}

std::vector<std::vector<double>> scales_of(const Simulation& simulation,
                                           std::vector<std::vector<double>> illumination) {
  constexpr double least = 0.01;
  for (std::size_t i = 0; i < illumination.size(); ++i) {
    double most = 0.0;
    for (std::size_t k = 0; k < illumination[i].size(); ++k)
      if (simulation.moving(i)[k]) most = std::max(most, illumination[i][k]);
    most = simulation.grid().communicator().max(most);
    for (double& d : illumination[i]) d = most > 0.0 ? std::sqrt(d / most + least) : 1.0;
  }
  return illumination;
}

}  // namespace hindsight
