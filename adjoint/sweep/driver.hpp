// Executes a schedule's actions on a time-stepping problem. Knows no schedule, no tier and no field.
#pragma once

#include <cstdint>
#include <functional>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/checkpoints.hpp"
#include "adjoint/sweep/sweep_keeper.hpp"

namespace hindsight {

using KeepPiece = std::function<void(const std::function<void(BlockWriter&)>& write)>;
using ReadPiece = std::function<void(const std::function<void(BlockReader&)>& read)>;

/// A problem whose steps can be taken, and repeated. States are passed in and returned.
class ForwardSteps {
 public:
  virtual ~ForwardSteps() = default;
  virtual Buffer initial_state() = 0;
  /// Steps that advance() takes best at once from state k on, towards state `to`: one, or more that are taken in one
  /// pass over memory. `first` is true when they have not been taken before in this sweep.
  virtual std::int64_t steps_at_once(std::int64_t /*k*/, std::int64_t /*to*/, const Buffer& /*state*/,
                                     bool /*first*/) const {
    return 1;
  }
  /// State k -> state k + steps, which may take the place of a state that nothing else refers to. @param steps one, or
  /// as many as steps_at_once() said.
  virtual Buffer advance(std::int64_t k, std::int64_t steps, Buffer state, bool first) = 0;
  /// Whether state k, reached for the first time, is the last one.
  virtual bool is_last(std::int64_t k) const = 0;
  /// All that steps have accumulated in this sweep; when it has `turned`, that of the way back too, and the adjoint.
  virtual void save(BlockWriter& to, bool turned) const = 0;
  virtual void restore(BlockReader& from, bool turned) = 0;
  /// A state, bit for bit.
  virtual void save_state(BlockWriter& to, std::int64_t k, const Buffer& state) = 0;
  /// @param k of the sweep's first way through it, else -1.
  virtual Buffer restore_state(BlockReader& from, std::int64_t k) = 0;
};

/// A problem whose steps can also be reversed.
class ReversibleSteps : public ForwardSteps {
 public:
  /// advance() by one step, keeping what reverse() needs in `record`. The next state may be left out unless it is
  /// `wanted`.
  virtual Buffer record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) = 0;
  /// The end is reached: sets the adjoint of the last state.
  virtual void turn(std::int64_t steps, const Buffer& last) = 0;
  /// Adjoint of state k+1 -> adjoint of state k.
  virtual void reverse(std::int64_t k, const StepRecord& record) = 0;
  /// State k -> state k-1, on the way back, as exactly as rounding lets it; state 0 need have no more than its first
  /// level, and is only compared.
  virtual Buffer retreat(std::int64_t k, const Buffer& state) = 0;
  /// Is shown a state that was walked back to and the same one as it was kept.
  virtual void see_drift(std::int64_t k, const Buffer& walked, const Buffer& kept) = 0;
  /// Records, some of them without base, in small pieces, each of which `keep` lets be written: for the same number of
  /// ranks.
  virtual void save_records(const KeepPiece& keep, std::span<const StepRecord> records) const = 0;
  /// What steps left behind for retreat(), by pieces that the keeper logs once.
  virtual void save_left_behind(BlockWriter& /*to*/, SweepKeeper& /*keeper*/) {}
  virtual void restore_left_behind(BlockReader& /*from*/, SweepKeeper& /*keeper*/) {}
  /// As many as were saved together. @param read lets the next piece be read.
  virtual void restore_records(const ReadPiece& read, std::span<StepRecord> records) = 0;
};

/// Steps executed, transfers, and units used at most, per tier.
struct DriverCounts : ScheduleCounts {
  std::int64_t repaired = 0;         ///< checkpoints computed again because their slot was damaged or lost
  std::int64_t repairing_steps = 0;  ///< steps that this took, not counted in `plain` and `recorded`
};

/// Of several sweeps one after the other: what they did is added up, peaks are the highest.
void add_counts(DriverCounts& counts, const DriverCounts& more);
void save_counts(ArchiveWriter& to, const DriverCounts& counts);
DriverCounts restore_counts(BlockReader& from);

/// How a sweep begins, and who keeps it.
struct DriveOptions {
  bool is_online = false;         ///< only is_last() tells the number of steps, and the schedule learns it then
  std::int64_t steps = -1;        ///< that the schedule must be for; -1: it says itself where it turns
  SweepKeeper* keeper = nullptr;  ///< null: nobody
  BlockReader* kept = nullptr;    ///< where to go on, as the keeper was given it by the same schedule; null: at step 0
  /// Called every few steps with (steps done forward, steps reversed); may be empty.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

/// Runs all actions. @param checkpoints at least as many slots as the schedule uses; empty before and after, but for
/// slow tiers of which kept slots remain. Slots of slow tiers are read ahead, as the actions to come say. @throws
/// TierIsFull; ResourceError when too many slots are damaged; what the keeper throws; Error(bug) when an action lacks
/// what it needs, or when the schedule ends before all steps are reversed.
DriverCounts drive(const Schedule& schedule, ReversibleSteps& steps, Checkpoints& checkpoints,
                   const DriveOptions& options);

/// Takes all steps once, forward. @param steps how many, at most where options say is_online. @returns the last state.
/// @throws what the keeper throws.
Buffer drive_forward(std::int64_t steps, ForwardSteps& problem, const DriveOptions& options);

}  // namespace hindsight
