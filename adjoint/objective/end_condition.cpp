#include "adjoint/objective/end_condition.hpp"

#include <cmath>

namespace hindsight {

EndCondition::EndCondition(const StopSpec& spec, const TermPlace& place)
    : spec_(spec), square_(IntegralSpec(spec.quantity * spec.quantity, IntegralSpec::When::end, 1.0), place) {}

bool EndCondition::is_met(const Moment& moment) {
  const double norm = std::sqrt(square_.alone_at(moment));
  was_met_ = spec_.below ? norm < spec_.limit : norm > spec_.limit;
  return was_met_;
}

}  // namespace hindsight
