// The states of a simulation: the pool that they lie in, and how they are written and read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "adjoint/problem/discretisation.hpp"
#include "adjoint/store/checkpoints.hpp"
#include "adjoint/store/pool.hpp"
#include "adjoint/sweep/driver.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

class States {
 public:
  /// Buffers that are live at once beside checkpoints: of the state, the next one, the base of the live record, the
  /// last one known finite, one of its repetitions; of two levels, of those before them that are none of these.
  static constexpr std::int64_t live_buffers(int levels) { return levels > 1 ? 8 : 5; }

  /// Once the grid is made; allocates nothing.
  explicit States(const Discretisation& problem);

  /// Every buffer has room for so many states behind each other, of which the first one is what is spoken of
  /// (SpanStepper). To be followed by reserve().
  void set_span(std::int64_t states) { span_ = states; }
  /// Records hold what the stepper's do now. To be followed by reserve().
  void set_record() { stages_.assign(static_cast<std::size_t>(problem_.stepper().record_states()), nullptr); }
  /// Whether checkpoints are records of the first level alone. To be followed by reserve().
  void set_first_levels(bool wanted) { keeps_first_levels_ = wanted; }
  /// Of a buffer.
  std::int64_t doubles() const { return span_ * problem_.block_doubles(); }
  /// Of a checkpoint.
  std::int64_t bytes() const { return unit_buffers() * doubles() * static_cast<std::int64_t>(sizeof(double)); }
  /// That a checkpoint takes; that a state takes.
  std::int64_t unit_buffers() const { return keeps_first_levels_ ? 1 : levels(); }
  int levels() const { return problem_.shape().levels; }

  /// States that records hold beside the one that they start from.
  std::int64_t record_states() const { return std::ssize(stages_); }
  /// Buffers of the pool: the states at work, one record's stages, and those of checkpoints. Of any problem, whether
  /// its grid is made or not.
  static std::int64_t buffers(const Discretisation& problem, std::int64_t of_checkpoints);
  /// Bytes that the least pool lacks (negative: that this pool has beyond it).
  std::int64_t lacking_bytes() const;
  /// Makes the pool for at least 0, or exactly so many, buffers of checkpoints, unless it is so. None may be in use.
  void reserve(std::int64_t of_checkpoints);
  /// Makes the least pool, unless it is so. No buffer may be in use.
  void shrink();
  /// Whether reserve() would make a new pool.
  bool must_remake(std::int64_t of_checkpoints) const;

  Pool& pool() { return *pool_; }
  /// Room for a whole state.
  Buffer acquire() { return pool_->acquire_levels(levels()); }
  /// Room for the state after another: of two levels, the other's first one is the level before.
  Buffer acquire_after(const Buffer& state) {
    Buffer next = pool_->acquire();
    if (state.has_before()) next.set_before(state);
    return next;
  }
  /// Makes room for what a record of a step keeps.
  void acquire_stages(StepRecord& record) {
    if (!stages_.empty()) record.stages = pool_->acquire(static_cast<int>(stages_.size()));
  }
  /// The states of a record's stages, until the next call; null: it has none.
  double* const* stages_of(const StepRecord& record) {
    if (!record.stages) return nullptr;
    record.stages.data(stages_.data());
    return stages_.data();
  }
  /// Until the next call.
  const std::vector<CellArray>& fields_of(const double* state);
  /// Owned cells of all arrays, for any number of ranks.
  void save(BlockWriter& to, StateBlocks state) const;
  void restore(BlockReader& from, StateBlocks state) const;
  /// With the ghosts, which the step that made a record has filled and its reversal reads (ReversibleSteps).
  void save_records(const KeepPiece& keep, std::span<const StepRecord> records) const;
  void restore_records(const ReadPiece& read, std::span<StepRecord> records);

 private:
  std::span<const StateArray> own_arrays() const;
  /// The fields of all levels.
  std::vector<CellArray> cells_of(StateBlocks state) const;

  const Discretisation& problem_;
  std::unique_ptr<Pool> pool_;
  std::int64_t count_ = 0, span_ = 1;
  bool keeps_first_levels_ = false;
  std::int64_t pool_doubles_ = 0;  // of a buffer of the pool
  std::vector<double*> stages_;    // of the record in use
  std::vector<CellArray> fields_;  // of a state that is looked at
};

}  // namespace hindsight
