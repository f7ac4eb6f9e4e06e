// One filter for all traces of a misfit.
#pragma once

#include <span>

#include "adjoint/objective/butterworth.hpp"
#include "adjoint/objective/traces.hpp"

namespace hindsight {

/// Numbers are times by places, as Traces has them, of however many places.
class TraceFilter {
 public:
  /// @param traces at regular times (Traces::interval), whose Nyquist frequency is above all corners.
  TraceFilter(const FilterSpec& spec, const Traces& traces) : times_(traces.times), filter_(spec, traces.interval) {}

  void apply(std::span<double> all) const {
    each_trace(all, [&](std::span<double> trace) { filter_.apply(trace); });
  }
  void apply_transpose(std::span<double> all) const {
    each_trace(all, [&](std::span<double> trace) { filter_.apply_transpose(trace); });
  }

 private:
  template <class Work>
  void each_trace(std::span<double> all, const Work& work) const {
    const std::size_t places = all.size() / times_;
    std::vector<double> trace(times_);
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t t = 0; t < times_; ++t) trace[t] = all[t * places + place];
      work(trace);
      for (std::size_t t = 0; t < times_; ++t) all[t * places + place] = trace[t];
    }
  }

  std::size_t times_;
  Butterworth filter_;
};

}  // namespace hindsight
