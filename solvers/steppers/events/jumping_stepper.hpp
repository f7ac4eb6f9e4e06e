// Steps of any method that begin with a jump where an event is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solvers/steppers/events/jumps.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// A step from u at the time of an event is the method's step from v, to which u jumps; the method's own arrays begin
/// anew (Stepper::begin()), and v is made again where the step is reversed. All other steps are the method's.
class JumpingStepper final : public Stepper {
 public:
  /// @param jumps outlives it.
  JumpingStepper(std::unique_ptr<Stepper> method, Jumps& jumps, const Model& model)
      : method_(std::move(method)), jumps_(jumps), model_(model) {}

  std::array<int, 3> halo() const override { return method_->halo(); }
  std::vector<WalkHalo> halos_of_step() const override { return method_->halos_of_step(); }
  std::array<int, 3> halo_of_launch() const override { return method_->halo_of_launch(); }
  bool tries_ways(bool of_reversals) const override { return method_->tries_ways(of_reversals); }
  int record_states() const override { return method_->record_states(); }
  bool reverses_from_state() const override { return method_->reverses_from_state(); }
  bool may_overwrite_adjoint() const override { return method_->may_overwrite_adjoint(); }
  int factor_states() const override { return method_->factor_states(); }
  void keep_factors(bool wanted) override { method_->keep_factors(wanted); }
  std::int64_t working_states() const override { return method_->working_states() + 2; }
  int sums() const override { return method_->sums(); }
  StateShape state(const Grid& grid) const override { return method_->state(grid); }
  void begin(Tables& tables, StepTime at, double* state) override { method_->begin(tables, at, state); }
  void begin_tangent(Tables& tables, StepTime at, double* state, double* direction) override {
    method_->begin_tangent(tables, at, state, direction);
  }
  void begin_adjoint(Tables& tables, StepTime at, double* state, double* lambda) override {
    method_->begin_adjoint(tables, at, state, lambda);
  }

  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void warm_up(Tables& tables, StepTime at, std::span<const double> lengths, double* state) override {
    method_->warm_up(tables, at, lengths, state);
  }
  std::int64_t passing_bytes() const override { return method_->passing_bytes(); }
  double solved_to() const override { return method_->solved_to(); }
  void loosen_solvers(double factor) override { method_->loosen_solvers(factor); }
  SolverReport solver_report() const override { return method_->solver_report(); }
  void bind_series_sums(std::size_t active_series, double* knots) override;
  void set_series(std::size_t series, const std::vector<double>& values) override;
  void set_series_directions(std::vector<Series> directions) override;
  void set_sources(const SourcePoints& points) override { method_->set_sources(points); }
  void parameters_changed(Tables& tables, bool tangent) override { method_->parameters_changed(tables, tangent); }

  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  /// Steps that begin with no jump.
  std::int64_t steps_through(StepTime first, std::int64_t most) const override;
  void step_through(Tables& tables, StepTime first, std::int64_t steps, StateBlocks u, double* next) override {
    bad_jump_ = {};
    method_->step_through(tables, first, steps, u, next);
  }
  /// A single step may begin with a jump, from a state that others look at.
  bool may_overwrite(std::int64_t steps) const override { return steps > 1 && method_->may_overwrite(steps); }
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  int error_order() const override { return method_->error_order(); }
  /// Where the jump is not finite there is no error, and no step.
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void watch_slopes(bool wanted) override { method_->watch_slopes(wanted); }
  void judge_by(Tables& tables, std::optional<std::size_t> field) override { method_->judge_by(tables, field); }
  WorstError worst_error(const Tables& tables) const override { return method_->worst_error(tables); }
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;

  void clear_sums() override { method_->clear_sums(); }
  void save_sums(BlockWriter& to) const override { method_->save_sums(to); }
  void restore_sums(BlockReader& from) override { method_->restore_sums(from); }
  std::vector<double> sizes_seen() const override { return method_->sizes_seen(); }
  void set_sizes_seen(const std::vector<double>& sizes) override { method_->set_sizes_seen(sizes); }
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override {
    method_->add_sums(scalars, knots);
  }

  std::vector<Described> describe() const override;
  std::string describe_memory() const override { return method_->describe_memory(); }
  std::optional<std::pair<int, int>> traffic_of_step() const override { return method_->traffic_of_step(); }
  std::vector<const KernelLibrary*> libraries() const override;
  std::vector<Evaluation> evaluations(StepTime time) const override { return method_->evaluations(time); }
  std::vector<double> input_at_cell(std::size_t i, StepTime time, const std::vector<double>& start,
                                    const std::vector<std::vector<double>>& slopes) const override {
    return method_->input_at_cell(i, time, start, slopes);
  }
  StepFailure failure() const override { return bad_jump_.is_known() ? bad_jump_ : method_->failure(); }

  /// Whether the state jumps that this step begins with.
  bool jumps_at(std::int64_t step) const { return jumps_.at(step); }
  // At such a step. What they return is good until the next call, and a state, of which the fields are meant.
  /// @returns the state after the jump, completed (Stepper::begin()).
  double* after(Tables& tables, StepTime time, double* u);
  /// @returns its tangent, once the state after the jump is made.
  double* tangent_after(Tables& tables, StepTime time, double* u, double* du);
  /// What adds to the adjoint of a state after a jump, when its step has been reversed.
  using AddAdjoint = std::function<void(StepTime time, double* after, double* lambda)>;
  void add_to_adjoints(AddAdjoint add) { add_adjoint_ = std::move(add); }

 private:
  /// Where the method begins: u, or the state that it jumps to.
  double* start(Tables& tables, StepTime time, double* u);
  void look_at_jump(StepTime time);

  std::unique_ptr<Stepper> method_;
  Jumps& jumps_;
  const Model& model_;
  const Grid* grid_ = nullptr;
  Memory after_, other_;  // the state after a jump; its tangent or its adjoint
  std::int64_t doubles_ = 0;
  AddAdjoint add_adjoint_;
  StepFailure bad_jump_;  // of the last step
};

}  // namespace hindsight
