#include "solvers/time/time_line.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {

std::int64_t StepSource::most_stretches(const TimeLine& line) const {
  return knows_all() ? std::ssize(line.landings()) - 1 : most_steps(line);
}

double StepSource::rounding(const TimeLine& line, double t) {
  return 16 * std::numeric_limits<double>::epsilon() * std::max(std::fabs(line.landings().front()), std::fabs(t));
}

TimeLine::TimeLine(const TimeSpan& span, std::unique_ptr<StepSource> source)
    : source_(std::move(source)), asked_step_(span.step), has_equal_steps_(span.has_equal_steps) {
  if (!(span.to > span.from)) throw InputError("time.to must be later than time.from");
  if (!(span.step > 0.0)) throw InputError("time.step must be positive");
  if (span.step > (span.to - span.from) * (1 + 1e-12))
    throw InputError("time.step overshoots the end: it is longer than the run");
  land_on(has_equal_steps_ ? TimeSpan{span.from, span.to, span.step} : span);
  // What may be recorded counts from the start, and nothing is allocated while stepping.
  const auto most = static_cast<std::size_t>(source_->most_stretches(*this)) + 1;
  ends_.reserve(most);
  first_step_.reserve(most);
  lengths_.reserve(most);
  forget();
}

void TimeLine::land_on(const TimeSpan& span) {
  std::vector<std::pair<double, bool>> sorted;  // with whether it is a switch
  for (const double t : span.landings) sorted.emplace_back(t, false);
  for (const double t : span.switches) sorted.emplace_back(t, true);
  std::ranges::sort(sorted);
  const auto add_switch = [&](double t) {
    if (!is_switch(t)) switches_.push_back(t);
  };
  landings_.push_back(span.from);
  for (const auto& [t, switches] : sorted) {
    double& last = landings_.back();
    const bool follows_switch = landings_.size() > 1 && is_switch(last);
    const bool is_new = t > last + (switches && follows_switch ? source_->rounding(*this, t) : tolerance(t));
    if (t >= span.to - tolerance(span.to)) {
      if (switches && t <= span.to + tolerance(span.to)) add_switch(span.to);
    } else if (is_new) {
      landings_.push_back(t);
      if (switches) add_switch(t);
    } else if (switches && t >= span.from - tolerance(span.from)) {
      if (landings_.size() > 1 && !follows_switch) last = t;
      add_switch(last);
    }
  }
  landings_.push_back(span.to);
  landings_.shrink_to_fit();
}

bool TimeLine::is_switch(double t) const {
  return std::ranges::binary_search(switches_, t);
}

StepTime TimeLine::beside_switches(StepTime time, bool begins, bool ends) {
  const double end = time.t + time.h;
  if (begins) time.earliest = time.t + beside_switch(time.t, time.h);
  if (ends) time.latest = end - beside_switch(end, time.h);
  return time;
}

void TimeLine::forget() {
  ends_.assign(1, landings_.front());
  first_step_.assign(1, 0);
  lengths_.clear();
  source_->begin(*this);
  steps_ = source_->most_steps(*this);
}

void TimeLine::reopen() {
  if (is_known()) {
    steps_ = recorded();
  } else {
    forget();
  }
}

void TimeLine::record(std::int64_t count, double to) {
  lengths_.push_back((to - ends_.back()) / static_cast<double>(count));
  ends_.push_back(to);
  first_step_.push_back(first_step_.back() + count);
}

std::size_t TimeLine::stretch(std::int64_t k) const {
  const auto same = static_cast<std::size_t>(k);  // where each step has its own
  if (same + 1 < first_step_.size() && first_step_[same] == k) return same;
  const auto after = std::upper_bound(first_step_.begin(), first_step_.end() - 1, k);
  return static_cast<std::size_t>(after - first_step_.begin()) - 1;
}

std::int64_t TimeLine::find_landing(std::int64_t k) const {
  const std::size_t s = k == recorded() ? first_step_.size() - 1 : stretch(k);
  if (first_step_[s] != k) return -1;
  const auto found = std::lower_bound(landings_.begin(), landings_.end(), ends_[s]);
  return found != landings_.end() && *found == ends_[s] ? found - landings_.begin() : -1;
}

std::int64_t TimeLine::landing_of(double time) const {
  if (has_equal_steps_) return place_of(time).first;
  auto found = std::lower_bound(landings_.begin(), landings_.end() - 1, time);
  if (found != landings_.begin() && time - *(found - 1) < *found - time) --found;
  if (std::fabs(*found - time) <= 2 * tolerance(time)) return found - landings_.begin();
  throw Error(ExitCode::bug, "no step lands at t = " + std::to_string(time));
}

double TimeLine::share_at(double time) const {
  return has_equal_steps_ ? place_of(time).second : 1.0;
}

/// Of equal steps: the state not before a time, and its share there. Times as close to a state as round-off are its.
std::pair<std::int64_t, double> TimeLine::place_of(double time) const {
  constexpr double close = 1e-9;  // of a step
  const double steps = (time - ends_.front()) / lengths_.front();
  const double nearest = std::nearbyint(steps);
  const bool is_state = std::fabs(steps - nearest) <= close;
  const double after = is_state ? nearest : std::ceil(steps);
  if (after < 0 || after > static_cast<double>(recorded()))
    throw Error(ExitCode::bug, "no step lands at t = " + std::to_string(time));
  return {static_cast<std::int64_t>(after), is_state ? 1.0 : 1.0 - (after - steps)};
}

TimeLine::Stretch TimeLine::stretch_at(std::ptrdiff_t s) const {
  const auto i = static_cast<std::size_t>(s);
  return {ends_[i], ends_[i + 1], lengths_[i]};
}

TimeLine::Stretch TimeLine::shortest() const {
  return stretch_at(std::min_element(lengths_.begin(), lengths_.end()) - lengths_.begin());
}

TimeLine::Stretch TimeLine::longest() const {
  return stretch_at(std::max_element(lengths_.begin(), lengths_.end()) - lengths_.begin());
}

void TimeLine::save(BlockWriter& to) const {
  to.archive().write(steps_);
  if (is_known()) return;
  to.archive().write(std::vector<double>(ends_.begin(), ends_.end()));
  to.archive().write(std::vector<std::int64_t>(first_step_.begin(), first_step_.end()));
  to.archive().write(std::vector<double>(lengths_.begin(), lengths_.end()));
  source_->save(to);
}

void TimeLine::restore(BlockReader& from) {
  from.read(steps_);
  if (is_known()) return;
  const auto ends = from.get<std::vector<double>>();
  const auto first_step = from.get<std::vector<std::int64_t>>();
  const auto lengths = from.get<std::vector<double>>();
  ends_.assign(ends.begin(), ends.end());
  first_step_.assign(first_step.begin(), first_step.end());
  lengths_.assign(lengths.begin(), lengths.end());
  source_->restore(from);
}

}  // namespace hindsight
