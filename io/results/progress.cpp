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

std::optional<double> seconds_to_go(const SweepPosition& position, double seconds) {
  if (!position.part || *position.part <= 0.0) return std::nullopt;
  return std::max(0.0, seconds * (1.0 - *position.part) / *position.part);
}

std::string progress_line(const std::string& name, const SweepPosition& position, double seconds) {
  std::string line = name + "  ";
  if (const auto& reached = position.reached)
    line += fmt::format("t = {:.6g} of {:.6g}{}  ", reached->time, reached->end,
                        reached->may_end_before ? " at the latest" : "");
  line += std::to_string(position.done);
  if (position.total > 0) line += "/" + std::to_string(position.total);
  line += " steps";
  if (position.part) line += fmt::format("  {:.0f} %", 100 * *position.part);
  line += fmt::format("  {:.4g} steps/s", static_cast<double>(position.done) / std::max(seconds, 1e-9));
  const std::optional<double> left = seconds_to_go(position, seconds);
  return left ? line + "  ETA " + duration_text(*left) : line;
}

Progress::Progress(bool enabled, int rank) : warns_(enabled && rank == 0), enabled_(warns_ && isatty(2) != 0) {}
Progress::~Progress() {
  finish();
}

void Progress::phase(const std::string& name) {
  finish();
  name_ = name;
  next_look_ = 0;
  stride_ = 1;
  start_ = printed_ = std::chrono::steady_clock::now();
}

void Progress::update(const SweepPosition& position) {
  if (!enabled_ || position.done < next_look_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - printed_, all = now - start_;
  // Look at the clock rarely enough that it costs nothing, often enough for ten lines a second.
  if (since.count() < 0.02) stride_ = std::min<std::int64_t>(stride_ * 2, 1 << 20);
  next_look_ = position.done + stride_;
  if (since.count() < 0.1) return;
  if (since.count() > 0.2) stride_ = std::max<std::int64_t>(1, stride_ / 2);
  printed_ = now;
  print(position, all.count());
}

void Progress::print(const SweepPosition& position, double seconds) {
  print_error("\r\033[K" + progress_line(name_, position, seconds));
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
