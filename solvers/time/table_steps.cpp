#include "solvers/time/table_steps.hpp"

#include <algorithm>

namespace hindsight {
namespace {

class TableSteps final : public StepSource {
 public:
  explicit TableSteps(std::vector<double> times) : times_(std::move(times)) {}

  std::int64_t most_steps(const TimeLine& line) const override { return line.recorded(); }
  std::int64_t most_stretches(const TimeLine& line) const override {
    return std::ssize(line.landings()) + std::ssize(times_);
  }
  bool knows_all() const override { return true; }
  void begin(TimeLine& line) override {
    const auto& ends = line.landings();
    auto time = times_.begin();
    for (std::size_t i = 1; i < ends.size(); ++i) {
      for (time = std::upper_bound(time, times_.end(), ends[i - 1] + line.tolerance(ends[i - 1]));
           time != times_.end() && *time < ends[i] - line.tolerance(ends[i]); ++time)
        line.record(1, *time);
      line.record(1, ends[i]);
    }
  }
  void decide(TimeLine&, std::int64_t, const ReachedState&) override {}

 private:
  std::vector<double> times_;
};

}  // namespace

std::unique_ptr<StepSource> table_steps(const StepRules& rules) {
  return std::make_unique<TableSteps>(rules.times);
}

}  // namespace hindsight
