// The systems of models that read no neighbours: small dense ones, at every cell by itself.
#pragma once

#include <string>
#include <utility>

#include "solvers/steppers/implicit/dense/cell_systems.hpp"
#include "solvers/steppers/implicit/dense/stage_solver.hpp"
#include "solvers/steppers/implicit/stage_systems.hpp"

namespace hindsight {

class DenseSystems final : public StageSystems {
 public:
  DenseSystems(const Model& model, const Active& active, SystemWants wants)
      : model_(model),
        entries_(model, active, std::move(wants.variables), wants.prefix),
        systems_(model, entries_),
        solver_(entries_, systems_) {}

  KernelSet& kernels() override { return entries_.kernels(); }
  void prepare(const Grid& grid, Tables& tables, const CountedVector<std::int64_t>& places, bool factors) override {
    entries_.prepare(grid, tables);
    systems_.prepare(grid, places, factors);
    solver_.prepare(grid);
  }
  void begin() override { solver_.begin(); }
  void solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
                   double* slope) override {
    solver_.solve(tables, series, at, a, base, y, slope);
  }
  void linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                 bool /*needs_slope*/) override {
    entries_.evaluate(tables, series, at, u, slope);
    systems_.factorise(a);
  }
  void solve(double* x) override { systems_.solve(x); }
  void solve_transposed(double* x) override { systems_.solve_transposed(x); }
  int factor_states() const override {
    constexpr int few = 16;  // fields, whose systems are factored in as little time as factors are read
    return systems_.size() < few ? 0 : systems_.size() + 1;
  }
  void save_factors(double* const* states) const override { systems_.save_factors(states); }
  void load_factors(double* const* states) override { systems_.load_factors(states); }
  StepFailure failure() const override {
    StepFailure of_stage = solver_.failure(model_.fields);
    return of_stage.is_known() ? of_stage : StepFailure{systems_.failure()};
  }

 private:
  const Model& model_;
  JacobianEntries entries_;
  CellSystems systems_;
  StageSolver solver_;
};

}  // namespace hindsight
