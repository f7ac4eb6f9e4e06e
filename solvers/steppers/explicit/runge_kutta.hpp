// Explicit Runge-Kutta steps, their tangents and their adjoints, stage by stage in fused kernels.
//
// Forward, stage i of s: one pass computes K_i = F(Y_i) and writes the next stage's input (or the new state) at once.
// Adjoint, stage i = s..1, with lambda the adjoint of the new state: mu_i = b_i lambda + sum_{j>i} a_ji ybar_j,
// ybar_i = h J(Y_i)^T mu_i, lambda' = lambda + sum_i ybar_i, and pbar += h mu_i dF/dp(Y_i). (Hager 2000; Sandu 2006.)
// Slopes K and ybar are not kept where they follow from what is (tableau.hpp, Elimination).
// A model that reads no neighbours takes its whole step in one kernel, forward and backward.
//
// Memory per cell and field for RK4, pass by pass: forward 26 doubles read or written, adjoint 34 (8 bytes each). In
// one walk (wavefront.hpp), what is not in a cache: forward 2, reversing from the state alone 3.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/explicit/tableau.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// Steps by a tableau. Scalars' sums come first, then two per stage and active series.
class RungeKutta final : public Stepper, private SpanStepper {
 public:
  RungeKutta(const Model& model, Tableau tableau, const Active& active, Wants wants);
  ~RungeKutta() override;
  RungeKutta(const RungeKutta&) = delete;
  RungeKutta& operator=(const RungeKutta&) = delete;

  std::array<int, 3> halo() const override;
  std::vector<WalkHalo> halos_of_step() const override;
  std::array<int, 3> halo_of_launch() const override;
  bool tries_ways(bool of_reversals) const override;
  /// The inputs of stages 2 to s; none for a model that reads no neighbours, which recomputes them in registers.
  int record_states() const override;
  bool reverses_from_state() const override;
  bool may_overwrite_adjoint() const override;
  std::int64_t working_states() const override;
  int sums() const override;

  /// The fields and nothing else.
  StateShape state(const Grid& grid) const override {
    return shape_of_fields(grid, model_.fields.size(), model_.graph->element());
  }

  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void bind_series_sums(std::size_t active_series, double* knots) override;
  void set_series(std::size_t series, const std::vector<double>& values) override;
  void set_series_directions(std::vector<Series> directions) override;
  void set_sources(const SourcePoints& points) override;
  void parameters_changed(Tables& tables, bool tangent) override;

  /// Exchanges ghosts of every stage's input.
  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  bool may_overwrite(std::int64_t steps) const override;
  /// On hosts, where nothing depends on the time.
  std::int64_t steps_through(StepTime first, std::int64_t most) const override;
  void step_through(Tables& tables, StepTime first, std::int64_t steps, StateBlocks u, double* next) override;
  /// Keeps the stage inputs Y_2..Y_s.
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  /// Of ODEs on the host that do not depend on time.
  SpanStepper* spans() override;
  int error_order() const override { return tableau_.error.empty() ? 0 : tableau_.embedded_order + 1; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void watch_slopes(bool wanted) override;
  void judge_by(Tables& tables, std::optional<std::size_t> field) override;
  WorstError worst_error(const Tables& tables) const override;
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
  std::vector<double> input_at_cell(std::size_t i, StepTime time, const std::vector<double>& start,
                                    const std::vector<std::vector<double>>& slopes) const override;

 private:
  struct Parts;
  void step(Tables& tables, const StepSpan& span, double* u, double* next) override;
  void record(Tables& tables, const StepSpan& span, double* u, double* next) override;
  void reverse(Tables& tables, const StepSpan& span, double* u, double* lambda, double* lambda_next) override;
  int stages() const { return tableau_.stages(); }
  /// Whether slopes and stage adjoints are kept in arrays of their own.
  bool keeps_slopes() const;
  bool keeps_stage_adjoints() const;
  void allocate(const Grid& grid, Tables& tables);
  void begin_forward(Tables& tables, StepTime time);
  void fill_sources(Tables& tables, StepTime time, std::size_t stage);
  void bind_stages(Tables& tables, double* u, double* const* stages);
  void set_stage_scalars(Tables& tables, StepTime time);
  double stage_time(StepTime time, int i) const;

  const Model& model_;
  Tableau tableau_;
  Active active_;
  Wants wants_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hindsight
