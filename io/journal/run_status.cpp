#include "io/journal/run_status.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hindsight {

void RunStatus::begin(const std::string& phase, std::int64_t total, double now) {
  go_on(phase, total);
  restart(now);
  done_ = 0;
}

void RunStatus::go_on(const std::string& phase, std::int64_t total) {
  phase_ = phase;
  total_ = total;
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
  if (total_ <= 0) return "";
  return fmt::format("{} at {:.0f} %", phase_, 100.0 * static_cast<double>(done_) / static_cast<double>(total_));
}

void RunStatus::save(ArchiveWriter& to, double now) const {
  to.write(seconds(now));
  to.write(phase_);
  to.write(done_);
  to.write(total_);
}

void RunStatus::restore(BlockReader& from) {
  from.read(seconds_before_);
  from.read(phase_);
  from.read(done_);
  from.read(total_);
}

bool RunStatus::is_due(double now) const {
  constexpr double interval = 0.5;  // seconds
  return now - written_ >= interval;
}

void RunStatus::write(std::int64_t evaluations, std::int64_t epoch, double now) {
  written_ = now;
  nlohmann::ordered_json json = {{"phase", phase_},
                                 {"done", done_},
                                 {"total", total_},
                                 {"seconds", seconds(now)},
                                 {"evaluations", evaluations},
                                 {"epoch", epoch},
                                 {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  if (!failure_.empty()) json["failure"] = failure_;
  std::ofstream(file_ + ".partial") << json.dump(2) << "\n";
  std::rename((file_ + ".partial").c_str(), file_.c_str());
}

}  // namespace hindsight
