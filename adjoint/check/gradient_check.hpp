// Is a gradient right? It is compared with the tangent model and with differences of the objective, and what round-off
// allows is taken from the program under test itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "adjoint/check/quotients.hpp"
#include "adjoint/problem/unknown_values.hpp"

namespace hindsight {

/// What is checked. All functions are collective, give the same on every rank, and throw NumericsError where a run
/// fails.
struct CheckedProgram {
  std::function<double(const UnknownValues& at)> objective;
  /// The derivative in a direction by the tangent model.
  std::function<double(const UnknownValues& at, const UnknownValues& direction)> tangent;
  /// {objective, gradient} by the adjoint.
  std::function<std::pair<double, UnknownValues>(const UnknownValues& at)> gradient;
  /// The sum of products over all ranks.
  std::function<double(const UnknownValues& a, const UnknownValues& b)> dot;
  std::int64_t steps = 1;                                   ///< of a run
  double epsilon = std::numeric_limits<double>::epsilon();  ///< of the numbers that states hold
  double kicks = 1.0;      ///< how much more than itself what a step rounds comes to (Simulation::stability_ratio())
  double solved_to = 0.0;  ///< what a step's solvers leave of their equations, relative; 0: rounding
  /// Lets them leave this many times as much from now on; nothing where they leave rounding.
  std::function<void(double factor)> loosen_solvers;
};

enum class Verdict {
  right,
  kink,    ///< the objective has no derivative there, but the gradient is that of one side, the mean, or right nearby
  hidden,  ///< cannot be told: round-off hides it
  wrong
};

/// The adjoint's derivative in a direction beside another one. Both figures are relative to the larger of the two.
struct Comparison {
  double seen = 0.0;     ///< their difference
  double allowed = 0.0;  ///< what round-off, and the error of differences, can make of it at most
  Verdict verdict = Verdict::hidden;
  double tells = 0.0;  ///< the largest of what is allowed that tells something
  double away = 0.0;   ///< it was made this far from the point, as a fraction of the unknowns' sizes
};

struct DirectionCheck {
  double slope = 0.0, tangent = 0.0;  ///< the derivative at the point, by the adjoint and by the tangent model
  Comparison with_tangent, with_differences;
  LineSamples samples;        ///< of the objective at the point
  RemainderOrder remainders;  ///< there
  Verdict verdict() const;
  /// At the point the objective has a kink, and the adjoint's derivative is neither side's but lies between them.
  bool is_between_sides() const;
};

/// **Tangent against adjoint.** Both are made from the same states, so they differ by what linear sweeps round off. As
/// little as that each step rounds once, always in the same direction, is allowed in any case: (2 steps + 32) eps times
/// the sum of the products' magnitudes, with the eps of the numbers that states hold; and as much as solvers leave
/// (CheckedProgram::solved_to) in place of eps. Where more is seen, round-off is sampled: the difference at three more
/// points, 1e-9 of the unknowns' sizes away (of singles 8 eps), in directions that are scaled. There every rounding is
/// another one, while a mistake stays what it is. By as much as these samples lie apart, times 4 sqrt(steps), the two
/// may differ: what adds up to sqrt(steps) where signs are random may add up to steps where they are not. What solvers
/// leave is no rounding, it changes smoothly with the unknowns: it is sampled with solvers that leave 100 and 1000
/// times as much. It grows with that while a mistake stays, and 30 times what grows, per such a factor, is allowed.
///
/// **Differences against adjoint.** Extrapolated differences of the objective come with a bound (quotients.hpp).
///
/// Where the point tells nothing, or differences contradict, all is done once more at up to three points nearby, 1 %
/// and less away: a minimum or a kink stays behind, a mistake does not. A gradient is wrong that the tangent model
/// contradicts anywhere, or that differences contradict while they agree at none of these points.
///
/// What is evaluated follows from earlier results alone, so a run can be repeated from a log of them.
class GradientCheck {
 public:
  /// Bounds above this, relative to the derivative, tell nothing of round-off. Where solvers leave more than rounding,
  /// or states are singles, twice what each step may leave tells something too.
  static constexpr double largest_round_off = 1e-6;
  /// The same of differences, which lose a third of the digits at least (they are best at steps of the cube root of
  /// epsilon): 1e-3, of singles 0.05.
  static double largest_error(double epsilon) { return std::max(1e-3, 10.0 * std::cbrt(epsilon)); }

  /// @param gradient there. @param around a direction that changes all unknowns by about their own sizes: where points
  /// nearby lie.
  GradientCheck(CheckedProgram program, UnknownValues at, double objective, UnknownValues gradient,
                UnknownValues around);

  /// @param direction changes unknowns by about their own sizes.
  DirectionCheck check(const UnknownValues& direction);

 private:
  struct Sample {
    UnknownValues at, gradient;
    double scale;  ///< of directions
  };
  struct Place {
    UnknownValues at, gradient;
    double objective = 0.0, away = 0.0;
    std::optional<std::vector<Sample>> samples;  ///< made when they are first needed
  };
  struct Look {
    DirectionCheck check;
    bool contradicts = false;  ///< differences do, and no kink explains it
  };
  double sampled_noise(const UnknownValues& from) const;
  Place* nearby(std::size_t index);
  Look look(Place& place, const UnknownValues& direction) const;
  Comparison compare_with_tangent(Place& place, const UnknownValues& direction, double slope, double tangent) const;
  const std::vector<Sample>& samples(Place& place) const;
  double sampled_round_off(Place& place, const UnknownValues& direction, double difference) const;
  double sampled_rest_of_solvers(const Place& place, const UnknownValues& direction, double difference) const;
  void compare_with_differences(const Place& place, const UnknownValues& direction, Look& look) const;

  CheckedProgram program_;
  UnknownValues around_;
  double noise_ = 0.0;  // of the objective, as a standard deviation
  Place point_;
  std::vector<std::optional<Place>> nearby_;  // those asked for so far; none where a run fails
};

}  // namespace hindsight
