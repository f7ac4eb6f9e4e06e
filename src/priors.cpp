#include "src/priors.hpp"

#include "adjoint/problem/unknown_sums.hpp"

namespace hindsight {

double add_priors(const Case& c, const Simulation& simulation, UnknownValues* gradient) {
  double sum = 0.0;
  for (std::size_t i = 0; i < c.unknowns.size(); ++i) {
    if (!c.assumptions[i].prior) continue;
    const Prior& prior = *c.assumptions[i].prior;
    const std::vector<double>& values = simulation.values()[i];
    const MovingCells& moving = simulation.moving(i);
    const auto distance = [&](std::size_t k) { return moving[k] ? (values[k] - prior.mean) / prior.sd : 0.0; };
    if (simulation.spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation.grid(), [&](std::size_t k) { return 0.5 * distance(k) * distance(k); });
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) sum += 0.5 * distance(k) * distance(k);
    }
    if (gradient != nullptr)
      for (std::size_t k = 0; k < values.size(); ++k) (*gradient)[i][k] += distance(k) / prior.sd;
  }
  return sum;
}

}  // namespace hindsight
