#include "adjoint/problem/tried_step.hpp"

#include <cmath>
#include <utility>

#include "runtime/error.hpp"
#include "solvers/grid/place_text.hpp"

namespace hindsight {

void TriedStep::begin(const Buffer& from, bool keeps_record) {
  forget();
  record_.base = from;
  is_recorded_ = keeps_record;
}

double TriedStep::try_step() {
  return problem_.stepper().try_step(problem_.tables(), step_, record_.base.data(), next_.data(),
                                     is_recorded_ ? states_.stages_of(record_) : nullptr);
}

DivergenceFinder TriedStep::finder() const {
  return {problem_.spec(), problem_.stepper(), problem_.grid(), problem_.tables()};
}

double TriedStep::error(StepTime step) {
  if (!next_) next_ = states_.acquire();
  if (is_recorded_ && !record_.stages) states_.acquire_stages(record_);
  step_ = step;
  const double ratio = try_step();
  const Communicator& comm = problem_.communicator();
  if (!std::isfinite(ratio) && comm.any(problem_.stepper().failure().is_of_jump))
    comm.agree(finder().step(step_, record_.base.data(), step.t + step.h, {}), static_cast<int>(ExitCode::numerics));
  return ratio;
}

/// Of all fields at once an error says neither the field nor the place: it is estimated again for one after another.
std::string TriedStep::cause() {
  Stepper& stepper = problem_.stepper();
  Tables& tables = problem_.tables();
  const Communicator& comm = problem_.communicator();
  stepper.watch_slopes(true);
  const double ratio = try_step();
  stepper.watch_slopes(false);
  if (!std::isfinite(ratio)) return comm.first_text(finder().tried(step_, record_.base.data(), next_.data()));
  const std::vector<std::string>& fields = problem_.model().fields;
  double largest = -1.0;
  std::string worst;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    stepper.judge_by(tables, f);
    const double error = try_step();
    if (!(error > largest)) continue;
    largest = error;
    const Stepper::WorstError here = stepper.worst_error(tables);
    worst = comm.first_text(
        here.ratio == comm.max(here.ratio) ? "'" + fields[f] + "'" + place_text(problem_.grid(), here.cell) : "");
  }
  stepper.judge_by(tables, std::nullopt);
  return worst;
}

bool TriedStep::is(std::int64_t k, const Buffer& state) const {
  return next_ && step_.index == k && record_.base.data() == state.data();
}

Buffer TriedStep::take(StepRecord* record) {
  if (record != nullptr) *record = std::move(record_);
  Buffer next = std::move(next_);
  forget();
  return next;
}

void TriedStep::forget() {
  step_.index = -1;
  record_.reset();
  next_.reset();
}

}  // namespace hindsight
