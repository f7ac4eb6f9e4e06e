// Filters of misfits.
#include <fmt/format.h>

#include "adjoint/objective/traces.hpp"
#include "io/case/sections.hpp"

namespace hindsight {
namespace {

double read_frequency(const Value& value) {
  const double frequency = value.number();
  if (!(frequency > 0)) value.fail(value.path() + " must be positive: cycles per unit of time");
  return frequency;
}

void read_corners(const Value& filter, const std::string& kind, const Value& value, FilterSpec& spec) {
  if (kind == "lowpass") {
    spec.high = read_frequency(value);
  } else if (kind == "highpass") {
    spec.low = read_frequency(value);
  } else {
    const std::vector<Value> corners = value.items();
    if (corners.size() != 2) value.fail(value.path() + " needs two frequencies: [3, 10]");
    spec.low = read_frequency(corners[0]);
    spec.high = read_frequency(corners[1]);
    if (!(spec.low < spec.high)) filter.fail(value.path() + ": the first frequency must be below the second");
  }
}

}  // namespace

FilterSpec read_filter(Value filter) {
  constexpr int most = 16;  // cascades of more lose digits, and nobody asks for them
  FilterSpec spec;
  int kinds = 0;
  for (const char* const kind : {"lowpass", "highpass", "bandpass"})
    if (const auto value = filter.find(kind)) {
      ++kinds;
      read_corners(filter, kind, *value, spec);
    }
  if (const auto order = filter.find("order")) {
    const std::int64_t n = order->integer();
    if (n < 1 || n > most) order->fail(order->path() + " must lie between 1 and " + std::to_string(most));
    spec.order = static_cast<int>(n);
  }
  if (const auto phase = filter.find("phase")) spec.has_zero_phase = phase->one_of({"causal", "zero"}) == "zero";
  filter.finish();
  if (kinds != 1) filter.fail(filter.path() + " needs one of lowpass, highpass, bandpass");
  return spec;
}

void require_filterable(const Value& filter, const FilterSpec& spec, const TermText& misfit) {
  const std::string name = filter.path() + ", misfit of " + misfit.expression.text;
  if (misfit.log) filter.fail(name + ": logarithms are not filtered; filter and log: true exclude each other");
  const auto traces = traces_in(misfit.observations);
  if (!traces || traces->interval == 0.0)
    filter.fail(name +
                ": filters need the same places at times that are equally far apart, as `at` and `every` give "
                "them; '" +
                misfit.data + "' has others");
  const double nyquist = 0.5 / traces->interval;
  if (!(spec.highest_corner() < nyquist))
    filter.fail(fmt::format("{}: {} is not below the Nyquist frequency {:.6g} of observations that are {:.6g} apart",
                            name, spec.highest_corner(), nyquist, traces->interval));
}

}  // namespace hindsight
