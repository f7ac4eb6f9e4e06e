// check: are the derivatives those of the program? Taylor remainders, and the tangent against the adjoint.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "src/program/report.hpp"
#include "src/program/session.hpp"
#include "src/program/verbs.hpp"

namespace hindsight {
namespace {

constexpr double required_order = 1.9;
constexpr int required_halvings = 5;
constexpr int all_halvings = 15;
constexpr double first_step = 0.02, largest_step = 2.0;  // of an unknown's own size
constexpr double required_dot = 1e-12;

struct CheckResult {
  std::string unknown;
  std::vector<double> steps, zeroth, first;  ///< step sizes and remainders of order 0 and 1
  double zeroth_order = 0.0, first_order = 0.0, dot_error = 0.0;
  int halvings = 0;    ///< in the best stretch
  bool exact = false;  ///< no remainder above round-off: the objective is linear in this unknown
  bool flat = false;   ///< too few remainders above round-off for an order: the dot product alone decides
  bool has_orders() const {
    return first_order >= required_order && halvings >= required_halvings && std::fabs(zeroth_order - 1) < 0.1;
  }
  bool passed() const { return (exact || flat || has_orders()) && dot_error < required_dot; }
};

double order(const std::vector<double>& e, std::size_t i) {
  return std::log2(e[i] / e[i + 1]);
}

/// A direction that changes one unknown (or all) by about its own size; the same for every number of ranks.
UnknownValues direction(const Session& session, std::size_t only, std::uint64_t seed) {
  const Simulation& simulation = session.simulation();
  const Grid& grid = simulation.grid();
  UnknownValues all = simulation.values();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_field = simulation.spec().unknowns[i].is_field() && grid.dimensions() > 0;
    double size = 0.0;
    for (const double v : all[i]) size = std::max(size, std::fabs(v));
    MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_DOUBLE, MPI_MAX, session.communicator().handle());
    if (size == 0.0) size = 1.0;
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
      const double value = 0.5 + 0.5 * static_cast<double>(random() >> 11U) * 0x1.0p-53;
      all[i][k] = only == all.size() || only == i ? size * value : 0.0;
    }
  }
  return all;
}

/// Round-off of the objective is taken to be no larger than this.
double most_noise(double objective) {
  return 1e-13 * std::max(std::fabs(objective), 1e-300);
}

/// How many remainders, the largest steps first, are clear of round-off: of what the smallest steps leave, where
/// nothing else is left.
std::size_t count_clean(const CheckResult& r, double objective) {
  constexpr std::ptrdiff_t smallest = 3;
  const auto last = r.first.end() - std::min<std::ptrdiff_t>(smallest, std::ssize(r.first));
  const double least = 2.2e-3 * most_noise(objective);
  const double noise = std::clamp(*std::max_element(last, r.first.end()), least, most_noise(objective));
  const auto end = std::find_if(r.first.begin(), r.first.end(), [&](double e) { return !(e > 30 * noise); });
  return static_cast<std::size_t>(end - r.first.begin());
}

/// The worst orders over a stretch of five halvings: of the stretches, clear of round-off, whose first order is as
/// required, the one whose order 0 is nearest to 1; without any, the one with the best first order.
void find_orders(CheckResult& r, double objective) {
  const std::size_t clean = count_clean(r, objective);
  r.exact = *std::max_element(r.first.begin(), r.first.end()) <= 300 * most_noise(objective);
  const bool falls = clean < 2 || order(r.first, clean - 2) >= required_order;
  r.flat = !r.exact && clean <= required_halvings && falls;
  for (std::size_t begin = 0; begin + required_halvings < clean; ++begin) {
    double first = 1e9, zeroth = 1.0;
    for (std::size_t i = begin; i < begin + required_halvings; ++i) {
      first = std::min(first, order(r.first, i));
      if (std::fabs(order(r.zeroth, i) - 1) > std::fabs(zeroth - 1)) zeroth = order(r.zeroth, i);
    }
    const bool both_good = first >= required_order && r.first_order >= required_order;
    if (r.halvings == 0 ||
        (both_good ? std::fabs(zeroth - 1) < std::fabs(r.zeroth_order - 1) : first > r.first_order)) {
      r.first_order = first;
      r.zeroth_order = zeroth;
      r.halvings = required_halvings;
    }
  }
}

CheckResult check(Session& session, const Evaluation& base, std::size_t only) {
  const UnknownValues start = session.simulation().values();
  const UnknownValues v = direction(session, only, 20261120);
  CheckResult r;
  r.unknown = only == start.size() ? "all together" : session.source().unknowns[only].label();
  const double slope = session.dot(base.gradient, v);
  const double tangent = session.tangent(v).second;
  r.dot_error = std::fabs(tangent - slope) / std::max({std::fabs(tangent), std::fabs(slope), 1e-300});
  if (tangent == slope) r.dot_error = 0.0;
  const auto objective_at = [&](double e) {
    UnknownValues moved = start;
    for (std::size_t i = 0; i < moved.size(); ++i)
      for (std::size_t k = 0; k < moved[i].size(); ++k) moved[i][k] += e * v[i][k];
    session.simulation().set_values(moved);
    return session.objective({});
  };
  const auto add = [&](double e, bool in_front) {
    double value = 0.0;
    try {
      value = objective_at(e);
    } catch (const NumericsError&) {
      return false;  // too far
    }
    const auto place = [&](std::vector<double>& all) { return in_front ? all.begin() : all.end(); };
    r.steps.insert(place(r.steps), e);
    r.zeroth.insert(place(r.zeroth), std::fabs(value - base.objective));
    r.first.insert(place(r.first), std::fabs(value - base.objective - e * slope));
    return true;
  };
  double e = first_step;
  for (int i = 0; i <= all_halvings; ++i, e /= 2) add(e, false);
  if (r.first.empty()) throw NumericsError("no run near the values of " + r.unknown + " in the case succeeds");
  // An objective that is nearly linear in the unknown shows its order at large steps only.
  find_orders(r, base.objective);
  for (e = 2 * first_step; r.flat && e <= largest_step && add(e, true); e *= 2) find_orders(r, base.objective);
  session.simulation().set_values(start);
  return r;
}

}  // namespace

ExitCode check_verb(const Options& options, const Communicator& comm) {
  const Case source = read_case(options.target, options.set);
  const std::size_t count = source.unknowns.size();
  if (count == 0) throw InputError({options.target, 0, 0}, "nothing to check: the case has no unknowns");
  RunJournal journal(options, source, comm);
  Session session(source, comm, true, true, options.quiet, plan_options(options, source, comm, &journal));
  journal.begin(source, session.epoch_bytes());
  if (options.break_gradient) session.simulation().break_gradient();
  const Evaluation base = session.gradient({});
  session.simulation().fix_end();
  const bool talks = !options.quiet && options.json != "-";
  if (talks)
    print(comm, fmt::format("{}: objective {:.10g}\n{:<16} {:>8} {:>8} {:>9} {:>20}\n", session.source().name,
                            base.objective, "unknown", "order 0", "order 1", "halvings", "tangent vs adjoint"));
  Json json;
  json["case"] = session.source().name;
  json["objective"] = base.objective;
  bool passed = true, is_any_flat = false;
  for (std::size_t i = 0; i < (count == 1 ? 1 : count + 1); ++i) {
    const CheckResult r = check(session, base, i);
    passed = passed && r.passed();
    const std::string orders = r.exact ? fmt::format("{:>8} {:>8} {:>9}", "linear", "exact", "-")
                               : r.flat
                                   ? fmt::format("{:>8} {:>8} {:>9}", "nearly", "linear", "-")
                                   : fmt::format("{:>8.3f} {:>8.3f} {:>9}", r.zeroth_order, r.first_order, r.halvings);
    is_any_flat = is_any_flat || r.flat;
    if (talks)
      print(comm,
            fmt::format("{:<16} {} {:>20.2e}  {}\n", r.unknown, orders, r.dot_error, r.passed() ? "ok" : "FAILED"));
    json["unknowns"].push_back({{"unknown", r.unknown},
                                {"order0", r.zeroth_order},
                                {"order1", r.first_order},
                                {"halvings", r.halvings},
                                {"linear", r.exact},
                                {"nearly_linear", r.flat},
                                {"dot", r.dot_error},
                                {"steps", r.steps},
                                {"remainder0", r.zeroth},
                                {"remainder1", r.first},
                                {"passed", r.passed()}});
  }
  json["passed"] = passed;
  journal.folder().write_text("check.json", json.dump(2) + "\n");
  journal.finish();
  write_json(options, comm, json);
  if (talks && is_any_flat)
    print(comm, "nearly linear: remainders too close to round-off to tell an order; tangent against adjoint decides\n");
  if (talks)
    print(comm, passed ? "the gradient is right\n"
                       : fmt::format("the gradient is WRONG: remainders of order {} over {} halvings and a difference "
                                     "below {} are asked for\n",
                                     required_order, required_halvings, required_dot));
  return passed ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace hindsight
