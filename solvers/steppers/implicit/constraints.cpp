#include "solvers/steppers/implicit/constraints.hpp"

#include <algorithm>

namespace hindsight {
namespace {

Model constraints_of(Model model) {
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    if (!model.is_constrained(f)) model.right_hand_sides[f] = model.graph->constant(0.0);
  return model;
}

}  // namespace

Constraints::Constraints(const Model& model, const Active& active, const Derivatives& wanted, const PetscOptions& petsc,
                         Stepper::Changes changes)
    : model_(constraints_of(model)),
      variables_(constrained_variables(model)),
      operators_(model_, active, wanted, "constraint"),
      systems_(make_stage_systems(model_, active, operators_, {variables_, "constraint_", petsc, changes})) {}

void Constraints::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series,
                          const CountedVector<std::int64_t>& places) {
  places_ = &places;
  field_stride_ = grid.layout().field_stride;
  doubles_ = state_doubles(grid, model_.fields.size());
  operators_.prepare(grid, tables, series, longest_beside_systems);
  systems_->prepare(grid, tables, places, true);
  grid.communicator().together([&] {
    weights_ = Memory(doubles_, grid.machine());
    product_ = Memory(doubles_, grid.machine());
  });
}

void Constraints::warm_up(Tables& tables, StepTime at, double* state) {
  constexpr double a = 1.0;
  systems_->warm_up(tables, operators_.series(), at, {&a, 1}, state, weights_.data(), product_.data(), true);
}

/// Of z, by its place in a block.
template <class Visit>
void Constraints::at_every_value(Visit visit) const {
  for (const SystemVariable& variable : variables_)
    for (const std::int64_t place : *places_) visit(place + field_stride_ * static_cast<std::int64_t>(variable.field));
}

void Constraints::clear(double* block) const {
  at_every_value([&](std::int64_t i) { block[i] = 0.0; });
}

void Constraints::solve(Tables& tables, StepTime at, double* state) {
  systems_->solve_stage(tables, operators_.series(), at, 1.0, state, state, product_.data());
}

void Constraints::linearise(Tables& tables, StepTime at, double* state) {
  systems_->linearise(tables, operators_.series(), at, 1.0, state, product_.data(), false);
}

void Constraints::tangent(Tables& tables, StepTime at, double* state, double* direction) {
  linearise(tables, at, state);
  clear(direction);
  operators_.tangent(tables, at, state, direction, product_.data());
  systems_->solve(product_.data());
  at_every_value([&](std::int64_t i) { direction[i] = product_.data()[i]; });
}

void Constraints::adjoint(Tables& tables, StepTime at, double* state, double* lambda) {
  linearise(tables, at, state);
  std::fill_n(weights_.data(), doubles_, 0.0);
  at_every_value([&](std::int64_t i) { weights_.data()[i] = lambda[i]; });
  systems_->solve_transposed(weights_.data());
  operators_.adjoint(tables, at, state, weights_.data(), product_.data());
  for (std::size_t f = 0; f < model_.fields.size(); ++f)
    for (const std::int64_t place : *places_) {
      const std::int64_t i = place + field_stride_ * static_cast<std::int64_t>(f);
      lambda[i] += product_.data()[i];
    }
  clear(lambda);
}

}  // namespace hindsight
