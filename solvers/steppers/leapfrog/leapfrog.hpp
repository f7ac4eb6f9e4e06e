// Leapfrog steps (Stoermer-Verlet) of equations of second order, d^2u/dt^2 = A(u) + B du/dt, their tangents and
// adjoints.
//
// u[k+1] = (h^2 A(u[k]) + 2 u[k] - (1 + h B/2) u[k-1]) / (1 - h B/2), with B as it is at u[k]; explicit, of order 2.
// (Hairer, Lubich, Wanner 2003, Geometric numerical integration illustrated by the Stoermer-Verlet method.) A run
// begins with u[1] = u + h v + h^2/2 (A(u) + B v), where v is the given first derivative.
// Adjoint, with (a, -b) that of the state (u[k+1], u[k]): a' = (du[k+1]/du[k])^T a - b, b' = -(du[k+1]/du[k-1])^T a,
// which is a itself where nothing damps: then it is handed on.
//
// Memory per cell and field: forward 3 doubles read or written and the parameters, once for several steps where they go
// in one walk (leapfrog_walk.hpp); adjoint 3 and those, 4 with damping.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// A state is the fields and those before the last step; of the first state, their first derivatives; and the memories
/// of layers that absorb (MatchedLayers). All steps are of one length. Scalars' sums come first, then two per kind of
/// step and active series.
class Leapfrog final : public Stepper {
 public:
  Leapfrog(const Model& model, const Active& active, Wants wants);
  ~Leapfrog() override;
  Leapfrog(const Leapfrog&) = delete;
  Leapfrog& operator=(const Leapfrog&) = delete;

  int levels() const override { return 2; }
  bool reverses_first_level() const override;
  bool hands_on_adjoint(StepTime step) const override;
  std::string why_it_cannot_retreat() const override;
  std::array<int, 3> halo() const override;
  std::vector<WalkHalo> halos_of_step() const override;
  int sums() const override;
  StateShape state(const Grid& grid) const override;

  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void bind_series_sums(std::size_t active_series, double* knots) override;
  void set_series(std::size_t series, const std::vector<double>& values) override;
  void set_series_directions(std::vector<Series> directions) override;
  void set_sources(const SourcePoints& points) override;
  void parameters_changed(Tables& tables, bool tangent) override;
  double largest_step(Tables& tables) override;
  void values_given(Tables& tables, double* state) override;
  bool keeps_first_values() const override;
  void begin(Tables& tables, StepTime at, double* state) override;
  void begin_tangent(Tables& tables, StepTime at, double* state, double* direction) override;

  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  int steps_in_place(StepTime time) const override;
  void step_in_place(Tables& tables, std::span<const StepTime> times, StateBlocks u) override;
  /// The step with the levels exchanged: without damping, u[k-2] = h^2 A(u[k-1]) + 2 u[k-1] - u[k].
  void retreat(Tables& tables, StepTime time, StateBlocks u, double* before) override;
  StateShape left_behind(const Grid& grid) const override;
  void prepare_left_behind(const Grid& grid) override;
  void leave_behind(double* memory) override;
  /// Fills the ghosts of u as deep as its derivatives read them.
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;

  void clear_sums() override;
  void save_sums(BlockWriter& to) const override;
  void restore_sums(BlockReader& from) override;
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override;

  std::vector<Described> describe() const override;
  std::string describe_memory() const override;
  std::optional<std::pair<int, int>> traffic_of_step() const override;
  std::vector<const KernelLibrary*> libraries() const override;
  std::vector<Evaluation> evaluations(StepTime time) const override;

 private:
  struct Parts;
  void begin_step(Tables& tables, StepTime time, StateBlocks u);
  void step_without_layers(Tables& tables, StepTime time, StateBlocks u, double* next);

  const Model& model_;
  Active active_;
  Wants wants_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hindsight
