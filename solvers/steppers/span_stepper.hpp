// Steps that are taken several in a call, where a single one takes about as long as the call.
#pragma once

#include <cstdint>

#include "solvers/steppers/tables.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// Steps of one length that follow each other.
struct StepSpan {
  StepTime first;
  std::int64_t count = 1;
};

/// What a Stepper does with spans: the same as step by step, bit for bit. Blocks and bindings are as Stepper has them.
class SpanStepper {
 public:
  virtual ~SpanStepper() = default;
  virtual void step(Tables& tables, const StepSpan& span, double* u, double* next) = 0;
  /// Leaves the states that its steps begin with from `u` on, one behind the other, where they are to be reversed.
  virtual void record(Tables& tables, const StepSpan& span, double* u, double* next) = 0;
  /// @param u where record() has left the states. @param lambda, lambda_next as of Stepper::reverse(), of the ends.
  virtual void reverse(Tables& tables, const StepSpan& span, double* u, double* lambda, double* lambda_next) = 0;
};

}  // namespace hindsight
