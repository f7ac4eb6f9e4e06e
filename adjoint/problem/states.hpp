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
  /// Live at once beside checkpoints: the state, the next one, the base of the live record, the last one known finite,
  /// one of its repetitions.
  static constexpr std::int64_t live_states = 5;

  /// Once the grid is made; allocates nothing.
  explicit States(const Discretisation& problem);

  /// Every buffer has room for so many states behind each other, of which the first one is what is spoken of
  /// (SpanStepper). To be followed by reserve().
  void set_span(std::int64_t states) { span_ = states; }
  /// Records hold what the stepper's do now. To be followed by reserve().
  void set_record() { stages_.assign(static_cast<std::size_t>(problem_.stepper().record_states()), nullptr); }
  /// Of a buffer.
  std::int64_t doubles() const { return span_ * problem_.state_doubles(); }
  std::int64_t bytes() const { return span_ * problem_.state_bytes(); }

  /// States that records hold beside the one that they start from.
  std::int64_t record_states() const { return std::ssize(stages_); }
  /// Buffers of the pool: the states at work, one record's stages, and `units` of checkpoints. Of any problem, whether
  /// its grid is made or not.
  static std::int64_t buffers(const Discretisation& problem, std::int64_t units);
  /// Bytes that the least pool lacks (negative: that this pool has beyond it).
  std::int64_t lacking_bytes() const;
  /// Makes the pool for at least 0, or exactly so many, units of checkpoints, unless it is so. No buffer may be in use.
  void reserve(std::int64_t units);
  /// Makes the least pool, unless it is so. No buffer may be in use.
  void shrink();
  /// Whether reserve(units) would make a new pool.
  bool must_remake(std::int64_t units) const;

  Pool& pool() { return *pool_; }
  Buffer acquire() { return pool_->acquire(); }
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
  /// Local cell (0,0,0) of each field, until the next call.
  const std::vector<double*>& fields_of(const double* state);
  /// Owned cells of all arrays, for any number of ranks.
  void save(BlockWriter& to, const double* state) const;
  void restore(BlockReader& from, double* state) const;
  /// With the ghosts, which the step that made a record has filled and its reversal reads (ReversibleSteps).
  void save_records(const KeepPiece& keep, std::span<const StepRecord> records) const;
  void restore_records(const ReadPiece& read, std::span<StepRecord> records);

 private:
  std::span<const StateArray> own_arrays() const;

  const Discretisation& problem_;
  std::unique_ptr<Pool> pool_;
  std::int64_t count_ = 0, span_ = 1;
  std::int64_t pool_doubles_ = 0;  // of a buffer of the pool
  std::vector<double*> stages_;    // of the record in use
  std::vector<double*> fields_;    // of a state that is looked at
};

}  // namespace hindsight
