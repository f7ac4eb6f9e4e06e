#include "runtime/durations.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Since the boot, of this process; field 22 of its stat file.
double start_seconds() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line.substr(line.rfind(')') + 1));
  std::string word;
  for (int field = 3; field <= 22; ++field) words >> word;
  const double ticks = word.empty() ? 0.0 : std::strtod(word.c_str(), nullptr);
  return ticks > 0 ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : monotonic_seconds();
}

}  // namespace

double process_seconds() {
  static const double start = start_seconds();
  return monotonic_seconds() - start;
}

double parse_duration(const std::string& text) {
  const auto bad = [&] { return InputError("'" + text + "' is no duration: 90s, 55min, 2h, 1h30min are"); };
  double seconds = 0.0, smallest = std::numeric_limits<double>::infinity();
  const char* at = text.c_str();
  if (*at == '\0') throw bad();
  while (*at != '\0') {
    char* end = nullptr;
    if ((*at < '0' || *at > '9') && *at != '.') throw bad();
    const double number = std::strtod(at, &end);
    std::string unit;
    for (at = end; *at >= 'a' && *at <= 'z'; ++at) unit += *at;
    if (unit.empty() && *at == '\0' && seconds == 0.0)
      throw InputError(fmt::format("'{0}' has no unit: write {0}s, {0}min or {0}h", text));
    const double size = unit == "h" ? 3600.0 : unit == "min" || unit == "m" ? 60.0 : unit == "s" ? 1.0 : 0.0;
    if (size == 0.0 || size >= smallest || !std::isfinite(number)) throw bad();
    smallest = size;
    seconds += number * size;
  }
  if (!(seconds > 0)) throw bad();
  return seconds;
}

}  // namespace hindsight
