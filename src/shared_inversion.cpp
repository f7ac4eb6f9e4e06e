#include "src/shared_inversion.hpp"

#include <utility>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// What the first group says next.
enum class Order : int { evaluate, finish, fail };

Order ordered(Order order, const Communicator& across) {
  int number = static_cast<int>(order);
  MPI_Bcast(&number, 1, MPI_INT, 0, across.handle());
  return static_cast<Order>(number);
}

void share(std::vector<double>& numbers, const Communicator& across) {
  MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, 0, across.handle());
}

InversionResult lead(const InversionProblem& problem, const InversionSettings& settings, const ShotGroups& groups,
                     const InversionMonitor& monitor) {
  const Communicator& across = groups.across();
  bool is_evaluating = false;  // all groups are, and will know
  InversionProblem shared = problem;
  shared.evaluate = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    ordered(Order::evaluate, across);
    std::vector<double> values = at;
    share(values, across);
    is_evaluating = true;
    try {
      const double objective = problem.evaluate(values, gradient);
      is_evaluating = false;
      return objective;
    } catch (const NumericsError&) {  // the line search retreats
      is_evaluating = false;
      throw;
    }
  };
  try {
    return invert(shared, settings, groups.group(), monitor);
  } catch (const Error& error) {
    if (is_evaluating) throw;
    ordered(Order::fail, across);
    across.agree(error.what(), static_cast<int>(error.code()));
    throw;
  }
}

void follow(const InversionProblem& problem, const Communicator& across) {
  std::vector<double> values = problem.start, gradient;
  for (Order order = ordered(Order::finish, across); order != Order::finish; order = ordered(Order::finish, across)) {
    if (order == Order::fail) across.agree("", 0);
    share(values, across);
    try {
      problem.evaluate(values, gradient);
    } catch (const NumericsError&) {  // the first group says what follows from that
    }
  }
}

}  // namespace

InversionResult invert_together(const InversionProblem& problem, const InversionSettings& settings,
                                const ShotGroups& groups, const InversionMonitor& monitor) {
  if (groups.count() == 1) return invert(problem, settings, groups.group(), monitor);
  InversionResult result;
  if (groups.index() == 0) {
    result = lead(problem, settings, groups, monitor);
    ordered(Order::finish, groups.across());
  } else {
    follow(problem, groups.across());
    result.variables.resize(problem.start.size());
  }
  share(result.variables, groups.across());
  std::vector<double> others = {static_cast<double>(result.evaluations), result.gave_up ? 1.0 : 0.0};
  share(others, groups.across());
  result.evaluations = static_cast<std::int64_t>(others[0]);
  result.gave_up = others[1] > 0.0;
  return result;
}

}  // namespace hindsight
