// Timing by medians, and tables of what was wanted beside what was measured.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/stopwatch.hpp"

namespace hindsight::bench {

/// A benchmark: each program of this folder defines its own, main() calls it between MPI_Init and MPI_Finalize.
void measure(int argc, char** argv);

constexpr int repetitions = 7;

double median(std::vector<double> values);

/// Medians of some rounds in which every piece of work is timed once, in turn, so that drift hits all alike.
/// Each is run once before, uncounted.
std::vector<double> medians(const std::vector<std::function<void()>>& works, int rounds = repetitions);

/// A barrier of all ranks at which the early ones sleep: one that spins would take a core from what is measured.
void wait_for_all();

/// By the clock on the wall, and of this process's processors.
struct Seconds {
  double wall = 0.0, processor = 0.0;
};
Seconds both_seconds_of(const std::function<void()>& work);
Seconds operator+(const Seconds& a, const Seconds& b);
/// Each for itself.
Seconds median(const std::vector<Seconds>& values);

/// What as small an error costs, from the costs of those around it; not a number outside.
/// @param error_and_cost in the order of falling errors.
double cost_at(const std::vector<std::array<double, 2>>& error_and_cost, double error);

/// By how much this process grows at most while it lives, as the system counts it. One at a time.
class PeakMemory {
 public:
  PeakMemory();
  double megabytes() const;

 private:
  std::int64_t before_ = 0;
};

/// Bytes per second of one core on arrays of 256 MiB, touched before: copy (2 words per element), triad (3 words).
struct Bandwidth {
  double copy = 0.0, triad = 0.0;
};
Bandwidth measure_bandwidth();

/// A table that is printed row by row as it comes, by the first rank, and written as JSON in the end.
class Report {
 public:
  explicit Report(const std::string& title);
  /// `wanted` in words, e.g. "at most 20"; may be empty.
  void add(const std::string& what, double value, const std::string& unit, const std::string& wanted = "");
  /// Writes JSON to argv[1] when given.
  void finish(int argc, char** argv) const;

 private:
  bool is_first_rank_;
  nlohmann::ordered_json json_;
};

}  // namespace hindsight::bench
