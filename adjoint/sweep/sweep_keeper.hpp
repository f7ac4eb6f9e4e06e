// Who keeps the position of a sweep through time, so that another process can go on from there.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// Asked between steps, by all ranks at the same ones.
class SweepKeeper {
 public:
  virtual ~SweepKeeper() = default;
  /// Whether to keep() now; costs next to nothing most of the time. Collective.
  bool is_due() { return ++asked_ >= look_at_ && look(); }
  /// Lets `write` write what the sweep needs to go on. Throws Stopped when the process is to stop. Collective.
  virtual void keep(const std::function<void(BlockWriter&)>& write) = 0;
  /// The sweep has read where it goes on.
  virtual void resumed() = 0;
  /// Units of memory that slots hold now: what keep_part() would be given.
  void holds(std::int64_t units) { part_units_ = units; }
  /// Units of memory to be given to keep_part() at once, at most, the same on all ranks. 0: none, unless keep() will
  /// stop the process; then it is worth keeping what could be computed again.
  virtual std::int64_t units_kept_at_once() const = 0;
  /// Within keep(): a piece of something large, outside of what `write` writes. Pieces lie one behind the other.
  /// @returns its place, for read_part().
  virtual std::int64_t keep_part(const std::function<void(BlockWriter&)>& write) = 0;
  /// What this rank has kept at a place, which moves to the next piece.
  virtual void read_part(std::int64_t& place, const std::function<void(BlockReader&)>& read) = 0;

  /// Within keep(): a piece that is kept once, and that all later keep()s of the sweep may name.
  /// @param is_first of the sweep: those of other sweeps go. @returns its place, for read_logged().
  virtual std::int64_t log_piece(bool is_first, const std::function<void(BlockWriter&)>& write) = 0;
  /// The file that has the places, the same on all ranks.
  virtual int log_file() const = 0;
  /// @param places of a piece, as each of the ranks said that logged it.
  virtual void read_logged(int file, const std::vector<std::int64_t>& places,
                           const std::function<void(BlockReader&)>& read) = 0;

 protected:
  /// Looks at clocks and signals, and says after how many calls to look again. Collective.
  virtual bool look() = 0;
  std::int64_t asked_ = 0, look_at_ = 1, part_units_ = 0;
};

}  // namespace hindsight
