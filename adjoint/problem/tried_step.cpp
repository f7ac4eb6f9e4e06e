#include "adjoint/problem/tried_step.hpp"

#include <utility>

namespace hindsight {

void TriedStep::begin(const Buffer& from, bool keeps_record) {
  forget();
  record_.base = from;
  is_recorded_ = keeps_record;
}

double TriedStep::error(StepTime step) {
  if (!next_) next_ = states_.acquire();
  if (is_recorded_ && !record_.stages) states_.acquire_stages(record_);
  step_ = step;
  return problem_.stepper().try_step(problem_.tables(), step, record_.base.data(), next_.data(),
                                     is_recorded_ ? states_.stages_of(record_) : nullptr);
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
