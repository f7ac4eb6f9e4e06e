#include "solvers/steppers/implicit/stage_systems.hpp"

#include <utility>

#include "solvers/steppers/implicit/dense/dense_systems.hpp"
#include "solvers/steppers/implicit/petsc/grid_systems.hpp"

namespace hindsight {

std::unique_ptr<StageSystems> make_stage_systems(const Model& model, const Active& active, ModelOperators& operators,
                                                 SystemWants wants) {
  if (model.is_pointwise()) return std::make_unique<DenseSystems>(model, active, std::move(wants));
  return std::make_unique<GridSystems>(model, active, operators, std::move(wants));
}

}  // namespace hindsight
