// Durations: how long this process has lived, and durations as people write them.
#pragma once

#include <string>

namespace hindsight {

/// Seconds since the process started.
double process_seconds();

/// "90s", "55min", "2h", "1h30min" -> seconds, above 0. @throws InputError
double parse_duration(const std::string& text);

}  // namespace hindsight
