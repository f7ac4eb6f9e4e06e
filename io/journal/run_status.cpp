#include "io/journal/run_status.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hindsight {
namespace {

/// @param total 0: not known.
SweepPosition position_in(std::int64_t done, std::int64_t total) {
  return total > 0 ? SweepPosition::counted(done, total) : SweepPosition{done};
}

}  // namespace

void RunStatus::begin(const std::string& phase, std::int64_t total, double now) {
  position_ = {};
  go_on(phase, total);
  restart(now);
}

void RunStatus::go_on(const std::string& phase, std::int64_t total) {
  phase_ = phase;
  position_ = position_in(position_.done, total);
  invalidate();
}

void RunStatus::stage_begins(std::size_t stage, std::size_t count) {
  stage_ = stage;
  stages_ = count;
  invalidate();
}

void RunStatus::shots_begin(std::size_t count) {
  shots_ = count;
  done_shots_.clear();
  shot_.clear();
}

void RunStatus::shot_done(double objective, double seconds) {
  done_shots_.push_back({std::exchange(shot_, ""), objective, seconds});
  invalidate();
}

void RunStatus::fail(const std::string& why) {
  failure_ = why;
  invalidate();
}

void RunStatus::finish(double now) {
  seconds_before_ = 0.0;
  restart(now);
}

std::string RunStatus::text() const {
  if (position_.part) return fmt::format("{} at {:.0f} %", phase_, 100.0 * *position_.part);
  return position_.done > 0 ? fmt::format("{} after {} steps", phase_, position_.done) : "";
}

void RunStatus::save(ArchiveWriter& to, double now) const {
  to.write(seconds(now));
  to.write(phase_);
  to.write(position_.done);
  to.write(position_.total);
}

void RunStatus::restore(BlockReader& from) {
  from.read(seconds_before_);
  from.read(phase_);
  const auto done = from.get<std::int64_t>();
  position_ = position_in(done, from.get<std::int64_t>());
}

bool RunStatus::is_due(double now) const {
  constexpr double interval = 0.5;  // seconds
  return now - written_ >= interval;
}

void RunStatus::write(std::int64_t evaluations, std::int64_t epoch, double now) {
  written_ = now;
  nlohmann::ordered_json json = {{"phase", phase_},
                                 {"done", position_.done},
                                 {"total", position_.total},
                                 {"seconds", seconds(now)},
                                 {"evaluations", evaluations},
                                 {"epoch", epoch},
                                 {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  if (position_.part) json["part"] = *position_.part;
  if (const auto& reached = position_.reached) {
    json["time"] = reached->time;
    json[reached->may_end_before ? "latest_end" : "end"] = reached->end;
  }
  if (stage_ > 0) json["stage"] = {{"number", stage_}, {"count", stages_}};
  if (shots_ > 0) {
    json["shots"] = {{"count", shots_}, {"done", nlohmann::ordered_json::array()}};
    for (const DoneShot& shot : done_shots_)
      json["shots"]["done"].push_back({{"name", shot.name}, {"objective", shot.objective}, {"seconds", shot.seconds}});
    if (!shot_.empty()) json["shots"]["under_way"] = shot_;
  }
  if (!failure_.empty()) json["failure"] = failure_;
  if (!failure_.empty() && may_have_other_solvers_) json["other_solvers_may_do"] = true;
  std::ofstream(file_ + ".partial") << json.dump(2) << "\n";
  std::rename((file_ + ".partial").c_str(), file_.c_str());
}

}  // namespace hindsight
