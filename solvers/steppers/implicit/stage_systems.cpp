#include "solvers/steppers/implicit/stage_systems.hpp"

#include <utility>

#include "runtime/error.hpp"
#include "solvers/steppers/implicit/dense/dense_systems.hpp"
#include "solvers/steppers/implicit/petsc/grid_systems.hpp"

namespace hindsight {

std::unique_ptr<StageSystems> make_stage_systems(const Model& model, const Active& active, ModelOperators& operators,
                                                 SystemWants wants) {
  const std::string option = wants.petsc.first_with("-" + wants.prefix);
  if (model.is_pointwise() && !option.empty())
    throw InputError(wants.petsc.origin(option) + " the options -" + wants.prefix +
                     "... are for systems whose equations read neighbours, and these read none");
  if (model.is_pointwise()) return std::make_unique<DenseSystems>(model, active, std::move(wants));
  return std::make_unique<GridSystems>(model, active, operators, std::move(wants));
}

}  // namespace hindsight
