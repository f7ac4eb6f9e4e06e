// How far a run is: status.json for people who look at its folder, and what an epoch has of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/results/sweep_position.hpp"
#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// Times `now` are seconds since some moment of this process, the same in all calls.
class RunStatus {
 public:
  /// @param folder where status.json will be, or, of another group of ranks than the first, status-GROUP.json.
  explicit RunStatus(std::string folder, int group = 0)
      : file_(std::move(folder) + (group == 0 ? "/status.json" : "/status-" + std::to_string(group) + ".json")) {}

  /// An evaluation begins: the clock of what it takes starts again.
  void restart(double now) { began_ = now; }
  /// An evaluation has begun that has so many steps to do, 0: not known yet; the file is written at once.
  void begin(const std::string& phase, std::int64_t total, double now);
  /// The same for one that goes on where an earlier process kept it.
  void go_on(const std::string& phase, std::int64_t total);
  /// The run is at this of so many stages, from 1; 0: at none.
  void stage_begins(std::size_t stage, std::size_t count);
  /// The evaluation is of so many shots, of which this group of ranks does some.
  void shots_begin(std::size_t count);
  void shot_begins(const std::string& name) { shot_ = name; }
  void shot_done(double objective, double seconds);
  /// How far the evaluation is.
  void progress(const SweepPosition& position) { position_ = position; }
  /// If the run fails now, other solvers may do: so the file will say.
  void solvers_failed() { may_have_other_solvers_ = true; }
  /// The run has failed, and would fail again: the file says why.
  void fail(const std::string& why);
  /// The evaluation is done, and what earlier processes gave to it.
  void finish(double now);
  /// Seconds that the evaluation under way has taken, and of these in earlier processes.
  double seconds(double now) const { return seconds_before_ + now - began_; }
  double seconds_before() const { return seconds_before_; }
  /// "gradient at 34 %", "gradient after 1200 steps" where their number is not known; empty where none is done.
  std::string text() const;

  /// What an epoch has: seconds, phase, steps done and in all.
  void save(ArchiveWriter& to, double now) const;
  void restore(BlockReader& from);

  /// Whether the file is to be written: half a second after the last time, or when there is news.
  bool is_due(double now) const;
  /// The file is out of date.
  void invalidate() { written_ = never; }
  /// Writes the file, which readers see whole and which may get lost: errors are not told. @param evaluations that are
  /// done. @param epoch the newest.
  void write(std::int64_t evaluations, std::int64_t epoch, double now);

 private:
  static constexpr double never = -1e9;
  struct DoneShot {
    std::string name;
    double objective = 0.0, seconds = 0.0;
  };
  std::string file_, phase_, failure_, shot_;
  std::size_t stage_ = 0, stages_ = 0, shots_ = 0;
  std::vector<DoneShot> done_shots_;
  SweepPosition position_;
  bool may_have_other_solvers_ = false;
  double seconds_before_ = 0.0, began_ = 0.0, written_ = never;
};

}  // namespace hindsight
