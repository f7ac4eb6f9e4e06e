// How far states that were walked back to are from the ones that were kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "adjoint/problem/discretisation.hpp"
#include "runtime/error.hpp"
#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// States that were walked back to are farther from those kept than is accepted: all ranks throw it together. Make the
/// gradient without walking back.
class WalkedTooFar : public NumericsError {
 public:
  using NumericsError::NumericsError;
};

/// The drift of a state is the root mean square, over cells, fields and levels, of what it differs by, relative to the
/// largest one of the states seen in the sweep: that which walking began from, and kept ones. The same bits on every
/// number of ranks.
class WalkDrift {
 public:
  /// @param problem must outlive it.
  explicit WalkDrift(const Discretisation& problem) : problem_(problem) {}

  /// The drift that is accepted from now on; none: any.
  void accept(std::optional<double> most) { accepted_ = most; }
  /// Host memory that see() takes and gives back; 0 where nothing is accepted.
  std::int64_t passing_bytes() const;
  /// Before a sweep.
  void clear() {
    largest_ = 0.0;
    scale_ = none;
  }
  /// Whether begin() was called in this sweep.
  bool has_begun() const { return scale_ != none; }
  /// Walking begins from a state. Collective.
  void begin(StateBlocks state) { scale_ = mean(squares(state, state).kept, state, state); }
  /// Compares levels that both have. Collective. @throws WalkedTooFar
  void see(std::int64_t k, StateBlocks walked, StateBlocks kept);
  /// Of the sweep.
  double largest() const { return largest_; }

  void save(ArchiveWriter& to) const;
  void restore(BlockReader& from);

 private:
  struct Squares {
    double difference = 0.0, kept = 0.0;
  };
  Squares squares(StateBlocks walked, StateBlocks kept) const;
  /// By levels; cells and fields cancel.
  static double mean(double sum, StateBlocks walked, StateBlocks kept) {
    return walked.before != nullptr && kept.before != nullptr ? 0.5 * sum : sum;
  }

  static constexpr double none = -1.0;

  const Discretisation& problem_;
  std::optional<double> accepted_;
  double largest_ = 0.0, scale_ = none;  // scale: the largest mean square
};

}  // namespace hindsight
