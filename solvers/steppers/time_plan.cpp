#include "solvers/steppers/time_plan.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"

namespace hindsight {

TimePlan::TimePlan(double from, double to, double step, std::vector<double> landings) : tolerance_(1e-9 * step) {
  if (!(to > from)) throw InputError("time.to must be later than time.from");
  if (!(step > 0.0)) throw InputError("time.step must be positive");
  if (step > (to - from) * (1 + 1e-12)) throw InputError("time.step overshoots the end: it is longer than the run");
  std::sort(landings.begin(), landings.end());
  ends_.push_back(from);
  for (const double t : landings)
    if (t > ends_.back() + tolerance_ && t < to - tolerance_) ends_.push_back(t);
  ends_.push_back(to);
  ends_.shrink_to_fit();
  first_step_.reserve(ends_.size());
  lengths_.reserve(ends_.size() - 1);
  first_step_.push_back(0);
  for (std::size_t i = 1; i < ends_.size(); ++i) {
    const double slack = 1e-12 + 4e-16 * std::max(std::fabs(from), std::fabs(to)) / step;  // round-off of the times
    const double count = std::max(1.0, std::ceil((ends_[i] - ends_[i - 1]) / step * (1 - 1e-12) - slack));
    if (!(first_step_.back() + count < 9e15))
      throw InputError("time.step is so short that the steps cannot be counted");
    first_step_.push_back(first_step_.back() + static_cast<std::int64_t>(count));
    lengths_.push_back((ends_[i] - ends_[i - 1]) / count);
  }
  reopen();
}

std::size_t TimePlan::stretch(std::int64_t k) const {
  const auto after = std::upper_bound(first_step_.begin(), first_step_.end() - 1, k);
  return static_cast<std::size_t>(after - first_step_.begin()) - 1;
}

double TimePlan::time(std::int64_t k) const {
  return k == first_step_.back() ? ends_.back() : step(k).t;
}

TimePlan::Stretch TimePlan::shortest() const {
  const auto s = static_cast<std::size_t>(std::min_element(lengths_.begin(), lengths_.end()) - lengths_.begin());
  return {ends_[s], ends_[s + 1], lengths_[s]};
}

TimePlan::Stretch TimePlan::longest() const {
  const auto s = static_cast<std::size_t>(std::max_element(lengths_.begin(), lengths_.end()) - lengths_.begin());
  return {ends_[s], ends_[s + 1], lengths_[s]};
}

std::int64_t TimePlan::state_at(double time) const {
  const auto found = std::lower_bound(ends_.begin(), ends_.end(), time - 2 * tolerance_);
  if (found != ends_.end() && std::fabs(*found - time) <= 2 * tolerance_)
    return first_step_[static_cast<std::size_t>(found - ends_.begin())];
  throw Error(ExitCode::bug, "the time plan does not land at t = " + std::to_string(time));
}

}  // namespace hindsight
