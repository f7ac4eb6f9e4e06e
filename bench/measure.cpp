#include "bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

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

void Report::add(const std::string& what, double value, const std::string& unit, const std::string& wanted) {
  rows_.push_back({what, value, unit, wanted});
}

void Report::finish(int argc, char** argv) const {
  fmt::print("{}\n", title_);
  nlohmann::ordered_json json = {{"title", title_}};
  for (const Row& row : rows_) {
    fmt::print("  {:<52} {:>10.4g} {:<14} {}\n", row.what, row.value, row.unit, row.wanted);
    json["rows"].push_back({{"what", row.what}, {"value", row.value}, {"unit", row.unit}, {"wanted", row.wanted}});
  }
  if (argc > 1) std::ofstream(argv[1]) << json.dump(2) << "\n";
}

}  // namespace hindsight::bench
