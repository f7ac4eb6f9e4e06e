// How large errors of steps may be.
#pragma once

#include <vector>

namespace hindsight {

/// An error e of a field that is u before and u' after a step is measured by e / (absolute + relative max(|u|, |u'|)).
struct Tolerances {
  double relative = 0.0;
  std::vector<double> absolute;  ///< of each field of the model; not read of those that constraints fix

  bool operator==(const Tolerances&) const = default;
};

}  // namespace hindsight
