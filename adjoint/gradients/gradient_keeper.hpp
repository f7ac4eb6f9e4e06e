// Who keeps gradients under way, so that another process can go on with them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "adjoint/sweep/sweep_keeper.hpp"
#include "runtime/archive.hpp"

namespace hindsight {

/// A keeper of sweeps that also keeps what was worked out before and between them. All calls are collective.
class GradientKeeper : public SweepKeeper {
 public:
  /// Whether an earlier process has begun.
  virtual bool is_resumed() const = 0;
  /// Whether this goes on with what was kept by another number of ranks.
  virtual bool moves() const = 0;
  /// Something small, the same on all ranks, that shall be kept from now on, until it is detached: `write` must work so
  /// long. A name that is attached must be detached before it is attached again.
  virtual void attach(const std::string& name, std::function<void(ArchiveWriter&)> write) = 0;
  virtual void detach(const std::string& name) = 0;
  /// Lets `read` read what was kept under this name. @returns false when there is nothing.
  virtual bool read_attached(const std::string& name, const std::function<void(ArchiveReader&)>& read) const = 0;

  /// Between sweeps: may keep, and stop the process. @throws Stopped
  virtual void pause() = 0;
  /// The same, whether it is time to look at clocks and signals or not.
  virtual void pause_now() = 0;

  /// Where the sweep that comes next goes on; null: at its begin. Said only once.
  virtual BlockReader* kept_sweep() = 0;
  virtual bool has_sweep() const = 0;
  /// The kept position cannot be gone on with: its evaluation begins again.
  virtual void drop_sweep() = 0;
  /// Sweeps that cannot be gone on with are not kept.
  virtual void keep_sweeps(bool yes) = 0;
  /// Bytes of one unit that holds() counts, on this rank.
  virtual void expect_parts(std::int64_t bytes) = 0;
  /// Seconds that the evaluation under way took in earlier processes.
  virtual double seconds_before() const = 0;
};

}  // namespace hindsight
