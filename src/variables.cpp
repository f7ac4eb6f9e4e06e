#include "src/variables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "runtime/error.hpp"

namespace hindsight {

/// An ODE is replicated: its "fields" are numbers too.
Variables::Variables(Session& session, const std::vector<std::size_t>& unknowns, UnknownValues scales)
    : session_(session), scales_(std::move(scales)) {
  const Simulation& simulation = session.simulation();
  const std::vector<Unknown>& all = simulation.spec().unknowns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool by_owner = all[i].is_field() && simulation.grid().dimensions() > 0;
    const bool moves = std::ranges::find(unknowns, i) != unknowns.end();
    here_.push_back(moves && (by_owner || session.communicator().is_root()));
    replicated_.push_back(!by_owner);
  }
}

/// Calls visit(unknown, value) with the variables of this rank in their order.
template <class Visit>
void Variables::for_each(Visit visit) const {
  const UnknownValues& values = session_.simulation().values();
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t k = 0; here_[i] && k < values[i].size(); ++k)
      if (session_.simulation().moving(i)[k]) visit(i, k);
}

std::vector<double> Variables::to_variables(const UnknownValues& values) const {
  std::vector<double> all;
  std::string failure;
  for_each([&](std::size_t i, std::size_t k) {
    const double v = values[i][k];
    if (log(i) && !(v > 0)) failure = session_.source().unknowns[i].place.prefix() + "scale: log needs positive values";
    all.push_back((log(i) ? std::log(v) : v) * scale(i, k));
  });
  session_.communicator().agree(failure, static_cast<int>(ExitCode::bad_input));
  return all;
}

UnknownValues Variables::to_unknowns(const std::vector<double>& variables) const {
  UnknownValues values = session_.simulation().values();
  std::size_t next = 0;
  for_each([&](std::size_t i, std::size_t k) {
    const double variable = variables[next++] / scale(i, k);
    values[i][k] = log(i) ? std::exp(variable) : variable;
  });
  for (std::size_t i = 0; i < values.size(); ++i)
    if (replicated_[i])
      MPI_Bcast(values[i].data(), static_cast<int>(values[i].size()), MPI_DOUBLE, 0, session_.communicator().handle());
  return values;
}

std::vector<double> Variables::gradient(const UnknownValues& values, const UnknownValues& gradient) const {
  std::vector<double> all;
  for_each([&](std::size_t i, std::size_t k) {
    all.push_back(gradient[i][k] * (log(i) ? values[i][k] : 1.0) / scale(i, k));
  });
  return all;
}

std::vector<double> Variables::bounds(bool upper) const {
  std::vector<double> all;
  const double infinity = std::numeric_limits<double>::infinity();
  for_each([&](std::size_t i, std::size_t k) {
    const Assumptions& u = session_.source().assumptions[i];
    const auto& bound = upper ? u.upper : u.lower;
    all.push_back(!bound ? (upper ? infinity : -infinity) : (log(i) ? std::log(*bound) : *bound) * scale(i, k));
  });
  return all;
}

}  // namespace hindsight
