#include "io/results/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/standard_streams.hpp"

namespace hindsight {

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string progress_line(const std::string& name, const std::string& unit, std::int64_t done, std::int64_t total,
                          double seconds) {
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  const double part = static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total, 1));
  const std::string line =
      fmt::format("{}  {}/{} {}  {:.0f} %  {:.4g} {}/s", name, done, total, unit, 100 * part, rate, unit);
  if (done <= 0) return line;
  return line + "  ETA " + duration_text(static_cast<double>(std::max<std::int64_t>(0, total - done)) / rate);
}

Progress::Progress(bool enabled, int rank) : warns_(enabled && rank == 0), enabled_(warns_ && isatty(2) != 0) {}
Progress::~Progress() {
  finish();
}

void Progress::phase(const std::string& name, std::int64_t total, const std::string& unit) {
  finish();
  name_ = name;
  unit_ = unit;
  total_ = total;
  next_look_ = 0;
  stride_ = 1;
  start_ = printed_ = std::chrono::steady_clock::now();
}

void Progress::update(std::int64_t done) {
  if (!enabled_ || done < next_look_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - printed_, all = now - start_;
  // Look at the clock rarely enough that it costs nothing, often enough for ten lines a second.
  if (since.count() < 0.02) stride_ = std::min<std::int64_t>(stride_ * 2, 1 << 20);
  next_look_ = done + stride_;
  if (since.count() < 0.1) return;
  if (since.count() > 0.2) stride_ = std::max<std::int64_t>(1, stride_ / 2);
  printed_ = now;
  print(done, all.count());
}

void Progress::print(std::int64_t done, double seconds) {
  print_error("\r\033[K" + progress_line(name_, unit_, done, total_, seconds));
  line_open_ = true;
}

void Progress::warn(const std::string& text) {
  if (!warns_) return;
  finish();
  print_error("warning: " + text + "\n");
}

void Progress::finish() {
  if (line_open_) print_error("\r\033[K");
  line_open_ = false;
}

}  // namespace hindsight
