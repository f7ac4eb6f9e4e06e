#include "src/checked_session.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace hindsight {
namespace {

/// A number from 1/2 to 1 for each value of each unknown; the same for every number of ranks.
UnknownValues random_values(const Session& session, std::uint64_t seed) {
  const Simulation& simulation = session.simulation();
  const Grid& grid = simulation.grid();
  UnknownValues all = simulation.values();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_field = simulation.spec().unknowns[i].is_field() && grid.dimensions() > 0;
    for (std::size_t k = 0; k < all[i].size(); ++k) {
      auto cell = static_cast<std::uint64_t>(k);
      if (is_field) {
        const auto n = static_cast<std::uint64_t>(grid.cells()[0]);
        const auto row = static_cast<std::int64_t>(k / n);
        cell = grid.dimensions() == 1 ? static_cast<std::uint64_t>(grid.first()[0]) + k
                                      : static_cast<std::uint64_t>(grid.global_row(row)) * n + k % n;
      }
      std::mt19937_64 random(seed * 1000003 + i * 7919 + cell * 2654435761U);
      random.discard(2);
      all[i][k] = 0.5 + 0.5 * static_cast<double>(random() >> 11U) * 0x1.0p-53;
    }
  }
  return all;
}

/// Changes all unknowns by about their own sizes; what rests in them not at all.
UnknownValues own_sizes(const Session& session, std::uint64_t seed) {
  UnknownValues all = random_values(session, seed);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const MovingCells& moving = session.simulation().moving(i);
    all[i] = moving.only(std::move(all[i]));
    double size = 0.0;
    for (const double v : moving.only(session.simulation().values()[i])) size = std::max(size, std::fabs(v));
    size = session.communicator().max(size);
    for (double& value : all[i]) value *= size == 0.0 ? 1.0 : size;
  }
  return all;
}

/// Of these changes those of one unknown, or of all, each with the sign of its derivative: so products do not cancel.
UnknownValues uphill(const UnknownValues& sizes, const UnknownValues& gradient, std::size_t only) {
  UnknownValues all = sizes;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < all[i].size(); ++k)
      all[i][k] = only == all.size() || only == i ? std::copysign(all[i][k], gradient[i][k]) : 0.0;
  return all;
}

constexpr std::uint64_t seed_of_sizes = 20261120;

/// Unknowns that are checked: each alone, then all together where there are several.
std::size_t checks_of(std::size_t unknowns) {
  return unknowns == 1 ? 1 : unknowns + 1;
}

CheckedProgram checked_program(Session& session) {
  const auto at = [&session](const UnknownValues& values) -> Session& {
    session.set_values(values);
    return session;
  };
  CheckedProgram program;
  program.solved_to = session.simulation().stepper().solved_to();
  program.loosen_solvers = [&session](double factor) { session.loosen_solvers(factor); };
  program.objective = [at](const UnknownValues& values) { return at(values).objective({}); };
  program.tangent = [at](const UnknownValues& values, const UnknownValues& direction) {
    return at(values).tangent(direction).second;
  };
  program.gradient = [at](const UnknownValues& values) {
    Evaluation evaluation = at(values).gradient({});
    return std::pair(evaluation.objective, std::move(evaluation.gradient));
  };
  program.dot = [&session](const UnknownValues& a, const UnknownValues& b) { return session.dot(a, b); };
  program.steps = session.simulation().time().steps();
  program.epsilon = epsilon_of(session.simulation().element());
  program.kicks = session.simulation().stability_ratio();
  return program;
}

}  // namespace

std::vector<CheckedUnknown> check_gradient(Session& session, const CheckedPoint& point,
                                           const std::function<void(const CheckedUnknown&)>& checked) {
  constexpr std::uint64_t seed_around = 20261121;
  session.set_values(point.values);
  const UnknownValues sizes = own_sizes(session, seed_of_sizes);
  GradientCheck check(checked_program(session), point.values, point.evaluation.objective, point.evaluation.gradient,
                      own_sizes(session, seed_around));
  const std::size_t count = point.values.size();
  std::vector<CheckedUnknown> all;
  for (std::size_t i = 0; i < checks_of(count); ++i) {
    const std::string label = i == count ? "all together" : session.source().unknowns[i].label();
    all.push_back({label, check.check(uphill(sizes, point.evaluation.gradient, i))});
    if (checked) checked(all.back());
  }
  session.set_values(point.values);
  return all;
}

std::vector<double> checked_slopes(const Session& session, const CheckedPoint& point, const UnknownValues& gradient) {
  const UnknownValues sizes = own_sizes(session, seed_of_sizes);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < checks_of(gradient.size()); ++i)
    slopes.push_back(session.dot(gradient, uphill(sizes, point.evaluation.gradient, i)));
  return slopes;
}

}  // namespace hindsight
