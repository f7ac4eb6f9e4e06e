#include "solvers/time/adaptive_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr double safety = 0.9, least_factor = 0.2, most_factor = 5.0;

class AdaptiveSteps final : public StepSource {
 public:
  explicit AdaptiveSteps(const StepRules& rules) : rules_(rules) {}

  /// One more than there may be: where that many have been taken the run fails and does not end.
  std::int64_t most_steps(const TimeLine&) const override { return rules_.at_most + 1; }
  bool knows_all() const override { return false; }
  bool tries_steps() const override { return true; }
  std::int64_t rejected() const override { return state_.rejected; }

  void begin(TimeLine& line) override {
    state_ = {};
    state_.proposed = line.asked_step();
    failed_ = {};
  }

  void decide(TimeLine& line, std::int64_t k, const ReachedState& reached) override {
    const double t = line.time(k);
    while (line.landings()[state_.landing] <= t) {
      if (++state_.landing == line.landings().size()) return line.end_at(k);
    }
    if (k == rules_.at_most) fail_of_many(line, t, reached.trial->advice());
    double asked = bounded(line, t, state_.proposed), to = target(line, t, asked);
    bool was_rejected = false;
    double ratio = try_step(line, to, reached);
    while (!(ratio <= 1.0)) {
      if (asked <= least(line, t)) fail_of_length(k, t, to - t, ratio, reached.trial->cause());
      asked = bounded(line, t, (to - t) * factor_after_rejection(ratio, reached.trial->order()));
      to = target(line, t, asked);
      was_rejected = true;
      ++state_.rejected;
      ratio = try_step(line, to, reached);
    }
    line.record(1, to);
    propose(asked, to - t, ratio, was_rejected, reached.trial->order());
  }

  void save(BlockWriter& to) const override {
    to.archive().write(state_.proposed);
    to.archive().write(state_.ratio_before);
    to.archive().write(state_.rejected);
    to.archive().write(state_.landing);
  }
  void restore(BlockReader& from) override {
    from.read(state_.proposed);
    from.read(state_.ratio_before);
    from.read(state_.rejected);
    from.read(state_.landing);
  }

 private:
  /// What a run that goes on needs.
  struct State {
    double proposed = 0.0, ratio_before = 1.0;
    std::int64_t rejected = 0;
    std::uint64_t landing = 0;  ///< the next one, among the line's
  };

  /// Those of this process that had no finite error, for messages.
  struct Failed {
    std::int64_t count = 0;
    StepTime last{0.0, 0.0, -1};
    std::string why;
  };

  double try_step(const TimeLine& line, double to, const ReachedState& reached) {
    const StepTime step = line.step_to(to);
    const double ratio = reached.trial->error(step);
    if (!std::isfinite(ratio))
      failed_ = {failed_.count + 1, step, reached.grid.communicator().first_text(reached.trial->failure())};
    return ratio;
  }

  double least(const TimeLine& line, double t) const {
    const double span = line.landings().back() - line.landings().front();
    constexpr double eps = std::numeric_limits<double>::epsilon();
    return std::max({rules_.least, 16 * eps * std::fabs(t), 1e-10 * eps * span});
  }

  double most(const TimeLine& line) const {
    return rules_.most > 0 ? rules_.most : line.landings().back() - line.landings().front();
  }

  double bounded(const TimeLine& line, double t, double h) const {
    return std::min(std::max(h, least(line, t)), most(line));
  }

  /// Where a step of this length ends: at the next landing where it comes near it, halfway where two would reach it.
  double target(const TimeLine& line, double t, double h) const {
    const double landing = line.landings()[state_.landing];
    if (t + std::min(1.01 * h, most(line)) >= landing) return landing;
    if (t + 2 * h > landing) return t + 0.5 * (landing - t);
    return t + h;
  }

  static double factor_after_rejection(double ratio, int q) {
    if (!std::isfinite(ratio)) return least_factor;
    return std::max(least_factor, safety * std::pow(ratio, -1.0 / q));
  }

  /// @param asked the length before the step was shortened, or stretched, to land.
  void propose(double asked, double h, double ratio, bool was_rejected, int q) {
    const double beta = 0.2 / q, error = std::max(ratio, 1e-10);
    const double factor = safety * std::pow(error, -(1.0 / q - 0.75 * beta)) * std::pow(state_.ratio_before, beta);
    double next = h * std::clamp(factor, least_factor, was_rejected ? 1.0 : most_factor);
    if (h < 0.99 * asked && !was_rejected) next = std::max(next, asked);
    state_.proposed = next;
    state_.ratio_before = std::max(ratio, 1e-4);
  }

  /// @param cause see StepTrial.
  [[noreturn]] void fail_of_length(std::int64_t k, double t, double h, double ratio, const std::string& cause) const {
    constexpr double about = 1.01;
    const std::string times = ratio < about ? "slightly more than" : fmt::format("{:.3g} times", ratio);
    const std::string error = std::isfinite(ratio) ? times + " what the tolerance allows" +
                                                         (cause.empty() ? "" : ", largest in " + cause) + failures()
                                                   : "not finite" + (cause.empty() ? "" : ": " + cause);
    const std::string bound = rules_.least > 0 && h <= about * rules_.least
                                  ? fmt::format(", and time.least allows none below {:.3g}", rules_.least)
                                  : "";
    throw NumericsError(
        fmt::format("step {} at t = {:.10g} cannot be made short enough: with a length of {:.3g} its "
                    "estimated error is {}{}",
                    k, t, h, error, bound));
  }
  [[noreturn]] void fail_of_many(const TimeLine& line, double t, const std::string& advice) const {
    const bool is_bounded = rules_.most > 0 && state_.proposed >= rules_.most;
    throw NumericsError(fmt::format(
        "{} steps (time.at most) end at t = {:.10g}, before the run does at t = {:.10g}; the next one would be {:.3g} "
        "long{}{}. Allow more, or {}",
        rules_.at_most, t, line.landings().back(), bounded(line, t, state_.proposed),
        is_bounded ? ", as time.most has it" : "", failures(),
        is_bounded ? "longer ones (time.most)" : "loosen time.tolerance" + advice));
  }
  /// "; 12 of the steps that were tried had no finite error, the last ..."; empty where all had one.
  std::string failures() const {
    if (failed_.count == 0) return "";
    return fmt::format(
        "; {} of the steps that were tried had no finite error, the last at t = {:.10g} with a length of "
        "{:.3g}{}",
        failed_.count, failed_.last.t, failed_.last.h, failed_.why.empty() ? "" : ": " + failed_.why);
  }

  StepRules rules_;
  State state_;
  Failed failed_;
};

}  // namespace

std::unique_ptr<StepSource> adaptive_steps(const StepRules& rules) {
  return std::make_unique<AdaptiveSteps>(rules);
}

}  // namespace hindsight
