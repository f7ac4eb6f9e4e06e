#include "solvers/time/fixed_steps.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

class FixedSteps final : public StepSource {
 public:
  std::int64_t most_steps(const TimeLine& line) const override { return line.recorded(); }
  bool knows_all() const override { return true; }
  /// Steps between times that are written in other ways would be much shorter than asked for.
  double tolerance(const TimeLine& line, double /*t*/) const override { return 1e-9 * line.asked_step(); }
  void begin(TimeLine& line) override {
    const auto& ends = line.landings();
    const double step = line.asked_step();
    for (std::size_t i = 1; i < ends.size(); ++i) {
      // Round-off of the times.
      const double slack = 1e-12 + 4e-16 * std::max(std::fabs(ends.front()), std::fabs(ends.back())) / step;
      const double count = std::max(1.0, std::ceil((ends[i] - ends[i - 1]) / step * (1 - 1e-12) - slack));
      if (!(static_cast<double>(line.recorded()) + count < 9e15))
        throw InputError("time.step is so short that the steps cannot be counted");
      line.record(static_cast<std::int64_t>(count), ends[i]);
    }
  }
  void decide(TimeLine&, std::int64_t, const ReachedState&) override {}
};

}  // namespace

std::unique_ptr<StepSource> fixed_steps() {
  return std::make_unique<FixedSteps>();
}

}  // namespace hindsight
