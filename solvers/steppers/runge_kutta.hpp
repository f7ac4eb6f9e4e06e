// Explicit Runge-Kutta steps, their tangents and their adjoints, stage by stage in fused kernels.
//
// Forward, stage i of s: one pass computes K_i = F(Y_i) and writes the next stage's input (or the new state) at once.
// Adjoint, stage i = s..1, with lambda the adjoint of the new state: mu_i = b_i lambda + sum_{j>i} a_ji ybar_j,
// ybar_i = h J(Y_i)^T mu_i, lambda' = lambda + sum_i ybar_i, and pbar += h mu_i dF/dp(Y_i). (Hager 2000; Sandu 2006.)
// Slopes K and ybar are not kept where they follow from what is (tableau.hpp, Elimination).
// A model that reads no neighbours takes its whole step in one kernel, forward and backward.
//
// Memory per cell and field for RK4: forward 26 doubles read or written, adjoint 34 (8 bytes each).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/pass.hpp"
#include "solvers/steppers/tableau.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {

struct StepTime {
  double t = 0.0, h = 0.0;
  std::int64_t index = 0;  ///< of the step, from 0: what random numbers depend on
};

/// Kernels of one model and method, as graphs. Building it needs no grid; it tells the halo that a grid must have.
class RungeKutta {
 public:
  struct Wants {
    bool adjoint = false, tangent = false;
  };
  RungeKutta(const Model& model, const Tableau& tableau, const Active& active, Wants wants);
  ~RungeKutta();
  RungeKutta(const RungeKutta&) = delete;
  RungeKutta& operator=(const RungeKutta&) = delete;

  /// Ghost layers that its kernels read.
  std::array<int, 3> halo() const;
  int stages() const { return tableau_.stages(); }
  /// States that a record holds beside the state it starts from: the inputs of stages 2 to s; none for a model that
  /// reads no neighbours, which recomputes them in registers.
  int record_states() const;
  /// Number of sums (Tables): first the active scalars, in order; the rest belongs to the series.
  int sums() const;
  /// All kernels with their roles, for `hindsight explain`.
  struct Described {
    std::string role;
    const KernelSpec* kernel;
  };
  std::vector<Described> describe() const;
  /// Once prepared: of steps, forward and backward, tangents and walls.
  std::vector<const KernelLibrary*> libraries() const;
  /// Whether slopes and stage adjoints are kept in arrays of their own.
  bool keeps_slopes() const;
  bool keeps_stage_adjoints() const;

  /// Compiles and allocates for a grid. Collective. `series` run parallel to model.series.
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series);
  /// Where derivatives with respect to series go: knots x local rows, one array per active series.
  void bind_series_sums(std::size_t active_series, double* knots) { series_sums_[active_series] = knots; }

  /// New values of the knots of a series (index into model.series).
  void set_series(std::size_t series, const std::vector<double>& values);
  /// Directions of the active series, for tangent().
  void set_series_directions(std::vector<Series> directions) { series_directions_ = std::move(directions); }
  /// Before a reverse sweep: clears what walls have summed up. (Sums in Tables and series knots are the caller's.)
  void clear_sums() const;
  /// The sums over walls.
  void save_sums(BlockWriter& to, const Grid& grid) const;
  void restore_sums(BlockReader& from, const Grid& grid) const;
  /// After a reverse sweep: adds the derivatives through wall values to those of the active scalars and series knots;
  /// the same on every rank. Collective.
  void add_wall_sums(const Grid& grid, std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const;

  // Scalars and parameter fields are bound in `tables` before stepping; states are blocks of state_doubles(). Ghost
  // cells of states and adjoints are scratch. After changing parameters call parameters_changed().
  void parameters_changed(Tables& tables, bool tangent) const;

  /// u(t) -> u(t+h). Exchanges ghosts of every stage's input.
  void step(Tables& tables, StepTime time, double* u, double* next) const;
  /// The same step, bit for bit; keeps the stage inputs Y_2..Y_s in `stages` (record_states() pointers to states). With
  /// next null the new state is not computed: reversing does not need it.
  void record(Tables& tables, StepTime time, double* u, double* next, double* const* stages) const;
  /// Adjoint of the recorded step: lambda of the new state -> lambda of the old one. Adds to the sums.
  void reverse(Tables& tables, StepTime time, double* u, double* const* stages, double* lambda,
               double* lambda_next) const;
  /// Tangent of the recorded step.
  void tangent(Tables& tables, StepTime time, double* u, double* const* stages, double* du, double* dnext) const;

 private:
  struct Plan;
  void begin_forward(Tables& tables, StepTime time) const;
  void bind_stages(Tables& tables, double* u, double* const* stages) const;
  void set_stage_scalars(Tables& tables, StepTime time) const;
  void bind_knots(Tables& tables, StepTime time) const;

  const Model& model_;
  const Tableau& tableau_;
  Active active_;
  Wants wants_;
  std::unique_ptr<Plan> plan_;
  std::vector<double*> series_sums_;
  std::vector<Series> series_directions_;
};

}  // namespace hindsight
