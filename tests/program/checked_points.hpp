// Cases at random points, near and far from minima, and what checks say of gradients there, right ones and broken ones.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "adjoint/inversion/inversion.hpp"
#include "runtime/error.hpp"
#include "src/checked_session.hpp"
#include "tests/support.hpp"

namespace hindsight::test {

/// A case, made short enough for many checks.
struct SmallCase {
  std::string name;
  std::vector<std::string> set;
  std::string text = {};  ///< empty: a shipped case
  /// Collective.
  Case read() const {
    if (text.empty()) return shipped_case(name, set);
    const std::string data = testing::TempDir() + "two-points.csv";
    if (world().is_root()) std::ofstream(data) << "time,x,y,value\n0.01,0.3,0.4,0.1\n0.02,0.8,0.1,0.2\n";
    world().any(false);  // until it is written
    return text_case(text, {"objective.3.misfit.data=" + data});
  }
};

inline void PrintTo(const SmallCase& c, std::ostream* to) {
  *to << c.name;
}

/// Unknowns of every kind, all of which every kind of term depends on.
inline SmallCase every_kind() {
  return {"every-kind", {}, R"yaml(
case: every-kind
grid:
  order: 4
  x: {cells: 13, to: 1, boundary: {lower: {value: "0.1*sin(t) + a"}, upper: {slope: "b*cos(t)*q"}}}
  y: {cells: 24, to: 1, boundary: {value: "a*x*q"}}
parameters:
  a: 0.3
  b: 0.2
  q: {series: {times: [0, 0.01, 0.02], values: [1, 2, 1.5]}}
  kappa: {field: "1 + 0.3*sin(2*pi*y)*x"}
state: {u: {initial: "a*x*y + 0.1*cos(2*pi*x)"}, w: {initial: "0.2*x + a*kappa*b"}}
equations:
  dt(u): "0.1*div(kappa*grad(u)) + q*u*(1-u) + 0.1*w"
  dt(w): "-w*u*b*10 + upwind(0.2, w, x)"
time: {step: 0.001, to: 0.02, method: ssprk3}
objective:
  - final: "u^2*q^2 + (a*w - 0.05)^2"
  - integral: "10*grad2(u)*q^2 + (kappa*u*w*b)^2"
  - penalty: "1e-3*grad2(kappa)"
  - misfit: {of: "u*a + w^2", data: two-points.csv, noise: 0.5}
unknowns: {a: {}, b: {}, q: {}, kappa: {}, initial(u): {}}
)yaml"};
}

/// All, or those named.
inline std::vector<SmallCase> small_cases(const std::vector<std::string>& names = {}) {
  std::vector<SmallCase> all = {
      {"lynx-hare", {"time.step=0.05"}},
      {"school-influenza", {"time.step=0.05"}},
      {"gray-scott", {"grid.x.cells=32", "grid.y.cells=24", "time.to=20", "output.every=20"}},
      {"heat-conductivity", {"grid.x.cells=12", "grid.y.cells=12", "time.step=5e-3"}},
      {"burgers", {"grid.x.cells=60", "time.step=1e-3", "time.to=0.2"}},
      {"advection-3d", {"grid.x.cells=12", "grid.y.cells=10", "grid.z.cells=8", "time.to=0.1"}},
      {"lorenz96", {}},
      {"stochastic-allen-cahn", {"time.to=0.5"}},
      every_kind(),
  };
  std::erase_if(all, [&](const SmallCase& c) {
    return !names.empty() && std::find(names.begin(), names.end(), c.name) == names.end();
  });
  return all;
}

inline std::string name_of_case(const testing::TestParamInfo<SmallCase>& of) {
  std::string name = of.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Points of a case, the same for every number of ranks.
class Points {
 public:
  Points(Session& session, std::uint64_t seed)
      : session_(session), start_(session.simulation().values()), random_(seed) {}

  /// Single numbers between half and twice what the case says, fields moved by up to a third of their largest value.
  UnknownValues far() {
    UnknownValues point = start_;
    for (std::size_t i = 0; i < point.size(); ++i) {
      for (double& value : point[i])
        if (!is_field(i)) value = value * std::exp2(number()) + 1e-3 * number();
    }
    return with_fields(point, 0.33);
  }

  /// So near to a minimum: what an optimiser finds, moved by this part of the unknowns' sizes.
  UnknownValues near_minimum(double distance) {
    if (estimate_.empty()) estimate_ = minimise();
    UnknownValues point = estimate_;
    for (std::size_t i = 0; i < point.size(); ++i)
      if (!is_field(i))
        for (double& value : point[i]) value *= 1 + distance * number();
    return with_fields(point, distance);
  }

 private:
  double number() { return 2.0 * static_cast<double>(random_() >> 11U) * 0x1.0p-53 - 1.0; }
  bool is_field(std::size_t i) const {
    return session_.simulation().spec().unknowns[i].is_field() && session_.simulation().grid().dimensions() > 0;
  }
  double size(std::size_t i) const {
    double most = 0.0;
    for (const double value : start_[i]) most = std::max(most, std::fabs(value));
    most = session_.communicator().max(most);
    return most == 0.0 ? 1.0 : most;
  }

  UnknownValues with_fields(UnknownValues point, double part) {
    const Grid& grid = session_.simulation().grid();
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (!is_field(i)) continue;
      std::vector<double> all(static_cast<std::size_t>(grid.total_cells()));
      for (double& value : all) value = part * size(i) * number();
      const std::vector<double> own = owned_part(grid, all);
      for (std::size_t k = 0; k < own.size(); ++k) point[i][k] += own[k];
    }
    return point;
  }

  /// On one rank: unknowns scaled by their sizes; those that the case takes the logarithm of stay positive.
  UnknownValues minimise() {
    const auto values_at = [&](const std::vector<double>& at) {
      UnknownValues values = start_;
      std::size_t next = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        for (double& value : values[i])
          value =
              session_.source().assumptions[i].log_scale ? value * std::exp(at[next++]) : value + size(i) * at[next++];
      return values;
    };
    InversionProblem problem;
    for (const auto& block : start_) problem.start.insert(problem.start.end(), block.size(), 0.0);
    problem.lower.assign(problem.start.size(), -1e300);
    problem.upper.assign(problem.start.size(), 1e300);
    problem.evaluate = [&](const std::vector<double>& at, std::vector<double>& gradient) {
      const UnknownValues values = values_at(at);
      session_.simulation().set_values(values);
      const Evaluation e = session_.gradient({});
      gradient.clear();
      for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t k = 0; k < values[i].size(); ++k)
          gradient.push_back(e.gradient[i][k] * (session_.source().assumptions[i].log_scale ? values[i][k] : size(i)));
      return e.objective;
    };
    return values_at(invert(problem, {"lbfgs", 150, 1e-9, 1e-9, ""}, session_.communicator(), {}).variables);
  }

  Session& session_;
  UnknownValues start_, estimate_;
  std::mt19937_64 random_;
};

inline const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return "right";
    case Verdict::kink:
      return "kink";
    case Verdict::hidden:
      return "hidden";
    case Verdict::wrong:
      break;
  }
  return "wrong";
}

/// The gradient at a point; none where the run fails.
inline std::optional<CheckedPoint> evaluated(Session& session, UnknownValues values) {
  session.simulation().set_values(values);
  try {
    Evaluation evaluation = session.gradient({});
    return CheckedPoint{std::move(values), std::move(evaluation)};
  } catch (const NumericsError&) {
    return std::nullopt;
  }
}

}  // namespace hindsight::test
