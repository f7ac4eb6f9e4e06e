// Several Runge-Kutta steps in one walk over the grid (wavefront.hpp): of memory they read and write what one does.
//
// Each step lags behind the one before as its stages do behind each other, and hands its new state on in rows that stay
// in a cache. It pays for methods of few stages, which wait for memory: more stages are arithmetic already.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/steppers/wavefront.hpp"

namespace hindsight {

class SeveralSteps {
 public:
  /// Names the arrays that steps hand on to each other: before there are Tables. Of equations on a plane (of rooms few
  /// planes fit into a cache). @param stages symbols [stage][field] of what stages read; the last entry is the new
  /// state. All outlive it.
  SeveralSteps(const Model& model, const std::vector<std::vector<int>>& stages);
  SeveralSteps(const SeveralSteps&) = delete;
  SeveralSteps& operator=(const SeveralSteps&) = delete;

  /// Whether a walk takes several steps of methods of so many stages.
  static bool are_possible(int stages);
  /// Halos with room for walks.
  std::vector<WalkHalo> halos(const KernelSet& kernels) const;
  /// @param kernels of the stages, prepared, which outlive it and read, beside states, what stays as it is from step
  /// to step. Collective.
  void prepare(const Tables& tables, std::vector<DifferentiatedKernel>& kernels);
  /// How many a walk takes of so many at most; 1: there is none.
  std::int64_t steps(std::int64_t most) const;
  // Of a number of steps that a walk takes:
  /// Whether the state after them may take the place of the one before.
  bool may_overwrite(std::int64_t steps) const;
  /// Scalars are those of all steps. @param u, next see Stepper::step_through().
  void run(Tables& tables, std::int64_t steps, double* u, double* next);
  /// For people; empty: steps are taken one by one.
  std::string describe() const;

 private:
  using Symbols = std::vector<int>;
  /// One of the steps: its kernels find its arrays under the names that every step's have.
  class OfStep final : public Wavefront::Beside {
   public:
    explicit OfStep(std::vector<std::pair<int, int>> arrays) : arrays_(std::move(arrays)) {}
    void bind(Tables& tables) override {
      for (const auto& [name, array] : arrays_) tables.bind(name, tables.field(array));
    }

   private:
    std::vector<std::pair<int, int>> arrays_;  // symbols
  };
  struct Walk {
    std::int64_t steps;
    std::vector<std::unique_ptr<OfStep>> each;
    std::vector<std::unique_ptr<Pass>> passes;
    std::unique_ptr<Wavefront> wavefront = nullptr;
  };
  std::vector<std::pair<int, int>> arrays_of(std::size_t step) const;
  void add_stage(std::vector<Wavefront::Step>& all, Walk& walk, DifferentiatedKernel& kernel, const Grid& grid) const;
  void make(const Tables& tables, std::vector<DifferentiatedKernel>& kernels, std::int64_t steps);
  const Walk& walk_of(std::int64_t steps) const;

  const Model& model_;
  const std::vector<std::vector<int>>& stages_;
  std::size_t count_;                      // of stages
  std::vector<std::int64_t> depths_;       // numbers of steps that are looked for, the largest first
  std::vector<Symbols> between_;           // [step][field]: the states that steps begin with; the one after the last
  std::vector<std::vector<Symbols>> own_;  // [step][stage]: what stages hand on within a step; of the first: the names
  std::vector<Walk> walks_;                // those of more steps first
};

}  // namespace hindsight
