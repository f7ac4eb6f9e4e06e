#include "bench/measure.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "runtime/resident.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight::bench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> medians(const std::vector<std::function<void()>>& works, int rounds) {
  std::vector<std::vector<double>> times(works.size());
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double seconds = seconds_of(works[i]);
      if (round >= 0) times[i].push_back(seconds);
    }
  std::vector<double> result;
  for (const auto& t : times) result.push_back(median(t));
  return result;
}

void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(1000);
  }
}

Seconds both_seconds_of(const std::function<void()>& work) {
  const std::clock_t before = std::clock();
  Seconds found;
  found.wall = seconds_of(work);
  found.processor = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  return found;
}

Seconds operator+(const Seconds& a, const Seconds& b) {
  return {a.wall + b.wall, a.processor + b.processor};
}

Seconds median(const std::vector<Seconds>& values) {
  std::vector<double> wall, processor;
  for (const Seconds& each : values) {
    wall.push_back(each.wall);
    processor.push_back(each.processor);
  }
  return {median(wall), median(processor)};
}

double cost_at(const std::vector<std::array<double, 2>>& error_and_cost, double error) {
  for (std::size_t i = 1; i < error_and_cost.size(); ++i) {
    const auto& [e0, s0] = error_and_cost[i - 1];
    const auto& [e1, s1] = error_and_cost[i];
    if (!(e0 >= error && error >= e1) || e0 == e1) continue;
    const double share = std::log(e0 / error) / std::log(e0 / e1);
    return s0 * std::pow(s1 / s0, share);
  }
  return NAN;
}

PeakMemory::PeakMemory() {
  give_back_freed();
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  before_ = resident().now;
}

double PeakMemory::megabytes() const {
  return static_cast<double>(resident().most - before_) / 1e6;
}

Bandwidth measure_bandwidth() {
  const std::int64_t n = std::int64_t{32} << 20;
  const Memory a(n), b(n), c(n);
  const auto bytes = static_cast<double>(n) * sizeof(double);
  const auto triad = [&] {
    double* const to = a.data();
    const double *const x = b.data(), *const y = c.data();
    for (std::int64_t i = 0; i < n; ++i) to[i] = x[i] + 3.0 * y[i];
  };
  const std::vector<double> t =
      medians({[&] { std::memcpy(a.data(), b.data(), static_cast<std::size_t>(n) * sizeof(double)); }, triad});
  return {2 * bytes / t[0], 3 * bytes / t[1]};
}

Report::Report(const std::string& title) : json_{{"title", title}} {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  is_first_rank_ = rank == 0;
  if (is_first_rank_) fmt::print("{}\n", title);
}

void Report::add(const std::string& what, double value, const std::string& unit, const std::string& wanted) {
  json_["rows"].push_back({{"what", what}, {"value", value}, {"unit", unit}, {"wanted", wanted}});
  if (!is_first_rank_) return;
  fmt::print("  {:<52} {:>10.4g} {:<14} {}\n", what, value, unit, wanted);
  std::fflush(stdout);
}

void Report::finish(int argc, char** argv) const {
  if (is_first_rank_ && argc > 1) std::ofstream(argv[1]) << json_.dump(2) << "\n";
}

}  // namespace hindsight::bench
