// The kernels of a Runge-Kutta method that estimate errors.
#include <map>

#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"

namespace hindsight {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

KernelRequest RungeKuttaKernels::trial() const {
  return pointwise_ ? whole_trial() : trial_of_stages();
}

void RungeKuttaKernels::put_ratio(KernelSpec& kernel, const std::vector<Expr>& errors,
                                  const std::vector<Expr>& next) const {
  Expr sum = graph_.constant(0.0);
  for (std::size_t f = 0; f < errors.size(); ++f) {
    const std::string& name = model_.fields[f];
    const Expr largest = max(abs(graph_.field(StageNames::stage(name, 1))), abs(next[f]));
    const Expr allowed =
        graph_.scalar(RungeKuttaNames::absolute(name)) + graph_.scalar(RungeKuttaNames::relative()) * largest;
    const Expr ratio = errors[f] / allowed;
    sum = sum + ratio * ratio;
  }
  kernel.outputs.push_back({RungeKuttaNames::ratio(), (1.0 / static_cast<double>(errors.size())) * sum});
}

KernelRequest RungeKuttaKernels::whole_trial() const {
  const int s = stages();
  const std::size_t fields = model_.fields.size();
  auto [slopes, next] = whole_step();
  if (reads_last_slope()) {
    std::map<int, Expr> value;
    for (std::size_t f = 0; f < fields; ++f)
      value[graph_.field(StageNames::stage(model_.fields[f], s + 1)).node().symbol] = next[f];
    slopes.push_back(
        substitute(at_stage(model_, model_.right_hand_sides, std::to_string(s + 1)), [&](const Node& node) {
          const auto known = node.op == Op::field ? value.find(node.symbol) : value.end();
          return known == value.end() ? Expr() : known->second;
        }));
  }
  KernelRequest request;
  request.names.value = "trial";
  request.stage = s + 1;
  request.expressions = next;
  for (std::size_t f = 0; f < fields; ++f) {
    Expr error = graph_.constant(0.0);
    for (std::size_t j = 0; j < tableau_.error.size(); ++j) error = error + tableau_.error[j] * slopes[j][f];
    request.expressions.push_back(h_ * error);
    request.states.push_back(StageNames::stage(model_.fields[f], 1));
  }
  request.epilogue.values = [this, fields](KernelSpec& kernel, const std::vector<Expr>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(fields);
    for (std::size_t f = 0; f < fields; ++f)
      kernel.outputs.push_back({RungeKuttaNames::next(model_.fields[f]), values[f]});
    put_ratio(kernel, {middle, values.end()}, {values.begin(), middle});
  };
  return request;
}

Expr RungeKuttaKernels::error_of_stages(const std::string& field) const {
  const int s = stages();
  const Expr u = graph_.field(StageNames::stage(field, 1)), next = graph_.field(StageNames::stage(field, s + 1));
  Expr error = graph_.constant(0.0);
  if (forward_elimination_.useful) {
    // sum_j error_j h K_j = sum_i w_i D_i with the increments D_i = sum_{j<=i} L_ij h K_j = (input of stage i+1) - u.
    std::vector<double> w(at(s), 0.0);
    for (int i = s - 1; i >= 0; --i) {
      double rest = tableau_.error[at(i)];
      for (int m = i + 1; m < s; ++m) rest -= w[at(m)] * forward_rows_[at(m)][at(i)];
      w[at(i)] = rest / forward_rows_[at(i)][at(i)];
      error = error + w[at(i)] * (graph_.field(StageNames::stage(field, i + 2)) - u);
    }
    return error;
  }
  // The last slope is not kept: it is what the new state has beyond those before.
  const double last = tableau_.error[at(s - 1)] / tableau_.b.back();
  for (int j = 0; j + 1 < s; ++j)
    error =
        error + (tableau_.error[at(j)] - last * tableau_.b[at(j)]) * graph_.field(RungeKuttaNames::slope(field, j + 1));
  return h_ * error + last * (next - u);
}

KernelRequest RungeKuttaKernels::trial_of_stages() const {
  const int s = stages();
  KernelRequest request;
  request.names.value = "trial";
  request.stage = s + 1;
  request.ghosts = StateGhosts::at_every_pass;
  if (reads_last_slope()) request.expressions = at_stage(model_, model_.right_hand_sides, std::to_string(s + 1));
  for (const std::string& field : model_.fields) request.states.push_back(StageNames::stage(field, s + 1));
  request.epilogue.values = [this](KernelSpec& kernel, const std::vector<Expr>& slopes) {
    std::vector<Expr> errors, next;
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      next.push_back(graph_.field(StageNames::stage(model_.fields[f], stages() + 1)));
      errors.push_back(error_of_stages(model_.fields[f]));
      if (!slopes.empty()) errors.back() = errors.back() + tableau_.error.back() * (h_ * slopes[f]);
    }
    put_ratio(kernel, errors, next);
  };
  return request;
}

}  // namespace hindsight
