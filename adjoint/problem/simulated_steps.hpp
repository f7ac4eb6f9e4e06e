// The steps of a simulation with its objective, forward and backward, as a sweep takes them.
#pragma once

#include <functional>

#include "adjoint/problem/broken_adjoint.hpp"
#include "adjoint/problem/divergence.hpp"
#include "adjoint/problem/parameters.hpp"
#include "adjoint/problem/spans.hpp"
#include "adjoint/problem/states.hpp"
#include "adjoint/problem/tried_step.hpp"
#include "adjoint/problem/walk_drift.hpp"
#include "adjoint/problem/walk_tape.hpp"
#include "adjoint/sweep/driver.hpp"

namespace hindsight {

/// Called with every state of the first sweep; `state` is the padded state (Tables::bind_state).
using StateObserver = std::function<void(std::int64_t k, double t, StateBlocks state)>;

class SimulatedSteps final : public ReversibleSteps {
 public:
  /// All must outlive it.
  SimulatedSteps(Discretisation& problem, Parameters& parameters, States& states);

  /// Before a sweep: forgets what sweeps before have seen and summed up. @param walks_back it will retreat().
  void begin(bool walks_back = false);
  /// Gives back the states that are kept beside a sweep's.
  void let_go() {
    watch_.forget();
    tried_.forget();
    tape_.begin(false);
    stepper_.leave_behind(nullptr);
  }
  /// Outside of sweeps: decides the step that follows state k.
  void reach(std::int64_t k, const Buffer& state) {
    decide(k, state, false);
    tried_.forget();
  }
  /// While it lives, the observer, which may be empty, is shown the states of sweeps.
  class Shown {
   public:
    Shown(SimulatedSteps& steps, const StateObserver& observer) : steps_(steps) {
      if (observer) steps_.observer_ = &observer;
    }
    ~Shown() { steps_.observer_ = nullptr; }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    SimulatedSteps& steps_;
  };
  /// From now on what sweeps take as one step is a span; null: a step is a step. Of a stepper that takes spans.
  /// @param spans must outlive this.
  void take(const Spans* spans) { spans_ = spans; }
  /// Steps of a sweep, at most.
  std::int64_t count() const { return spans_ != nullptr ? spans_->count() : time_.steps(); }
  /// From now on every sweep ends where the last one did.
  void fix_end() { has_fixed_end_ = true; }
  /// Whether only the states tell where a sweep ends.
  bool end_is_open() const;
  /// Whether launches of a step pay to be batched, as on a device.
  template <class Work>
  void batched(Work work) {
    if (!is_batched_) return work();
    problem_.machine().batch(work);
  }

  /// Whether a record that is reversed at once may hold the state alone (Stepper::reverses_from_state()). At any time;
  /// of methods that cannot, it says nothing.
  void reverse_from_state(bool wanted) { reverses_from_state_ = wanted && stepper_.reverses_from_state(); }
  /// In place of a sweep, for terms that depend on parameters alone.
  void look_at_parameters(bool with_adjoint);
  /// Makes the memory of adjoints, unless it is there.
  void reserve_adjoints();
  /// The adjoint of a state, with which reversing begins or goes on.
  StateBlocks adjoint() const { return lambda_.blocks(); }
  BrokenAdjoint& broken() { return broken_; }
  WalkDrift& drift() { return drift_; }
  const WalkDrift& drift() const { return drift_; }
  WalkTape& tape() { return tape_; }
  const WalkTape& tape() const { return tape_; }
  /// After a reverse sweep: adds up the derivatives of all ranks. @throws NumericsError that names the unknowns by
  /// which one is infinite or no number. Collective.
  UnknownValues collect_gradient();

  /// @throws NumericsError where steps are longer than what is stable with the present parameters.
  Buffer initial_state() override;
  /// The same state, whatever steps from it come to.
  Buffer first_state();
  std::int64_t steps_at_once(std::int64_t k, std::int64_t to, const Buffer& state, bool first) const override;
  /// Whether some of so many first steps are taken at once with others.
  bool takes_several(std::int64_t steps) const;
  Buffer advance(std::int64_t k, std::int64_t steps, Buffer state, bool first) override;
  Buffer record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) override;
  bool is_last(std::int64_t k) const override { return k == count(); }
  void turn(std::int64_t steps, const Buffer& last) override;
  void reverse(std::int64_t k, const StepRecord& record) override;
  /// Of steps that have two levels: the one that both states share stays where it is.
  Buffer retreat(std::int64_t k, const Buffer& state) override;
  void see_drift(std::int64_t k, const Buffer& walked, const Buffer& kept) override {
    drift_.see(k, walked.blocks(), kept.blocks());
  }
  /// The step alone, without what the objective adds: adjoint() is what it begins with as before, unless the new one
  /// takes its place (Stepper::may_overwrite_adjoint). @returns whether it does.
  bool reverse_step(std::int64_t k, const StepRecord& record);
  void save(BlockWriter& to, bool turned) const override;
  void restore(BlockReader& from, bool turned) override;
  void save_left_behind(BlockWriter& to, SweepKeeper& keeper) override { tape_.save(to, keeper); }
  void restore_left_behind(BlockReader& from, SweepKeeper& keeper) override { tape_.restore(from, keeper); }
  void save_state(BlockWriter& to, std::int64_t k, const Buffer& state) override;
  Buffer restore_state(BlockReader& from, std::int64_t k) override;
  void save_records(const KeepPiece& keep, std::span<const StepRecord> records) const override {
    states_.save_records(keep, records);
  }
  void restore_records(const ReadPiece& read, std::span<StepRecord> records) override {
    states_.restore_records(read, records);
  }

 private:
  /// The state of the time line that step k of a sweep begins with, or that a sweep ends with.
  std::int64_t state_at(std::int64_t k) const {
    if (spans_ == nullptr) return k;
    return k == spans_->count() ? time_.steps() : spans_->at(k).first;
  }
  StepSpan span(std::int64_t k) const {
    const Spans::Span span = spans_->at(k);
    return {time_.step(span.first), span.count};
  }
  bool may_overwrite(const Buffer& state, std::int64_t steps) const;
  bool overwrites_adjoint(const StepRecord& record) const;
  bool may_step_in_place(std::int64_t k, const Buffer& state) const;
  Buffer step_in_place(std::int64_t k, std::int64_t steps, Buffer state);
  std::int64_t steps_through(std::int64_t k, std::int64_t most, bool first) const;
  void take_steps(std::int64_t k, std::int64_t steps, const Buffer& state, const Buffer& next);
  Buffer record_step(std::int64_t k, const Buffer& state, bool wanted, StepRecord& record);
  /// @param recorded whether the step that follows is to be recorded, if it is tried.
  void observe(std::int64_t k, const Buffer& state, bool recorded);
  void show_objective(std::int64_t k, StateBlocks state);
  void decide(std::int64_t k, const Buffer& state, bool recorded);
  void add_objective_adjoint(std::int64_t k, const Buffer& state);
  void complete_initial_adjoint(double* state);
  void add_objective_adjoint(const Moment& moment, StateBlocks state, StateBlocks lambda);
  /// The state that a run ends with does not jump.
  bool jumps_at(std::int64_t k) const {
    return problem_.jumping() != nullptr && k != time_.steps() && problem_.jumping()->jumps_at(k);
  }
  AdjointMemory adjoint_memory() const;
  bool gains_by_batches() const;
  template <class Work>
  void contribute(const char* part, Work work) {
    if (!broken_.is_part(part)) return work();
    broken_.contribute([this] { return adjoint_memory(); }, work);
  }
  DerivativeSums add_up() const;
  void require_finite(const UnknownValues& gradient) const;

  Discretisation& problem_;
  // Of the problem, for steps that take nanoseconds.
  Stepper& stepper_;
  Tables& tables_;
  TimeLine& time_;
  Objective& objective_;
  Parameters& parameters_;
  States& states_;
  DivergenceWatch watch_;
  TriedStep tried_;
  Pool adjoints_;
  Buffer lambda_, lambda_next_;
  const Spans* spans_ = nullptr;
  const StateObserver* observer_ = nullptr;
  bool has_fixed_end_ = false, is_batched_ = false, reverses_from_state_ = false;
  BrokenAdjoint broken_;
  WalkDrift drift_;
  WalkTape tape_;
};

}  // namespace hindsight
