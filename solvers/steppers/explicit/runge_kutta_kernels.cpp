#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"

#include <fmt/format.h>

#include <map>

#include "solvers/steppers/kernels/tiny_values.hpp"

namespace hindsight {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

RungeKuttaKernels::RungeKuttaKernels(const Model& model, const Tableau& tableau, const Active& active,
                                     const PointSources& sources)
    : model_(model),
      tableau_(tableau),
      active_(active),
      sources_(sources),
      graph_(*model.graph),
      h_(graph_.scalar(step_factor)),
      pointwise_(model.is_pointwise()) {
  const int s = tableau.stages();
  for (int i = 1; i < s; ++i) forward_rows_.push_back(tableau.a[at(i)]);
  forward_rows_.push_back(tableau.b);
  // Row r produces mu of stage m = s-1-r (1-based; m = 0: the new lambda) from ybar of stages s, s-1, ..., s-r.
  for (int r = 0; r < s; ++r) {
    const int m = s - 1 - r;
    std::vector<double> row;
    for (int c = 0; c <= r; ++c) row.push_back(m == 0 ? 1.0 : tableau.a[at(s - 1 - c)][at(m - 1)]);
    reverse_rows_.push_back(row);
  }
  forward_elimination_ = eliminate(forward_rows_);
  reverse_elimination_ = eliminate(reverse_rows_);
}

int RungeKuttaKernels::first_sum(int stage) const {
  return static_cast<int>(active_.scalars.size()) + (stage - 1) * EvaluationTime::sums(active_);
}

void RungeKuttaKernels::add_to(KernelSet& kernels) const {
  if (pointwise_) return kernels.add(step());
  for (int i = 1; i <= tableau_.stages(); ++i) kernels.add(stage(i));
}

KernelRequest RungeKuttaKernels::stage(int i) const {
  KernelRequest request;
  const auto name = [i](const char* what) { return fmt::format("{}{}", what, i); };
  request.names = {name("forward"), name("tangent"), name("reverse"), name("border"), name("ring"), name("add")};
  request.stage = i;
  request.expressions = at_stage(model_, model_.right_hand_sides, std::to_string(i));
  if (sources_.are_any()) {
    request.at_sources = at_stage(model_, sources_.added_to(model_.right_hand_sides), std::to_string(i));
    request.source_arrays = sources_.arrays();
  }
  const bool is_last = i == tableau_.stages();
  for (const std::string& field : model_.fields) {
    request.states.push_back(StageNames::stage(field, i));
    request.multiplier_arrays.push_back(is_last ? StageNames::lambda(field) : RungeKuttaNames::mu(field, i));
  }
  request.series = series_variables(active_, i, first_sum(i));
  request.multiplier = [this, is_last, arrays = request.multiplier_arrays](std::size_t r) {
    const Expr multiplier = graph_.field(arrays[r]);
    return is_last ? tableau_.b.back() * multiplier : multiplier;
  };
  request.share = h_;
  request.epilogue = combinations(i);
  return request;
}

Epilogue RungeKuttaKernels::combinations(int i) const {
  Epilogue epilogue;
  epilogue.values = [this, i](KernelSpec& kernel, const std::vector<Expr>& slopes) {
    kernel.outputs = forward_outputs(i, slopes, false);
  };
  epilogue.tangents = [this, i](KernelSpec& kernel, const std::vector<Expr>& slopes) {
    kernel.outputs = forward_outputs(i, slopes, true);
  };
  epilogue.gather = [this, i](std::size_t f, Expr gather) { return reverse_outputs(i, model_.fields[f], gather); };
  epilogue.add = [this, i](std::size_t f, Expr ghost) { return outputs_with_ghosts(i, model_.fields[f], ghost); };
  return epilogue;
}

std::vector<KernelSpec::Output> RungeKuttaKernels::forward_outputs(int i, const std::vector<Expr>& slopes,
                                                                   bool is_tangent) const {
  const auto array = [&](const std::string& name) { return is_tangent ? StageNames::dot(name) : name; };
  const bool is_last = i == tableau_.stages();
  std::vector<KernelSpec::Output> outputs;
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    const std::string& name = model_.fields[f];
    const Expr combined = combine_forward(i, name, slopes[f], is_tangent);
    if (is_last) {
      outputs.push_back({array(RungeKuttaNames::next(name)), is_tangent ? kept_derivative(combined) : kept(combined)});
      continue;
    }
    outputs.push_back({array(StageNames::stage(name, i + 1)), combined});
    if (!forward_elimination_.useful) outputs.push_back({array(RungeKuttaNames::slope(name, i)), slopes[f]});
  }
  return outputs;
}

Expr RungeKuttaKernels::combine_forward(int i, const std::string& field, Expr slope, bool is_tangent) const {
  const auto array = [&](const std::string& name) { return graph_.field(is_tangent ? StageNames::dot(name) : name); };
  const std::vector<double>& row = forward_rows_[at(i - 1)];
  const Expr u = array(StageNames::stage(field, 1));
  if (forward_elimination_.useful) {
    double own = 1.0;
    Expr others = graph_.constant(0.0);
    for (int j = 1; j < i; ++j) {
      const double g = forward_elimination_.g[at(i - 1)][at(j - 1)];
      own -= g;
      others = others + g * array(StageNames::stage(field, j + 1));
    }
    return h_ * row[at(i - 1)] * slope + (others + own * u);
  }
  Expr sum = row[at(i - 1)] * slope;
  for (int j = i - 1; j >= 1; --j) sum = sum + row[at(j - 1)] * array(RungeKuttaNames::slope(field, j));
  return h_ * sum + u;
}

std::string RungeKuttaKernels::reverse_target(int i, const std::string& field) const {
  return i > 1 ? RungeKuttaNames::mu(field, i - 1) : RungeKuttaNames::lambda_next(field);
}

KernelSpec::Output RungeKuttaKernels::reverse_output(int i, const std::string& field, Expr value) const {
  return {reverse_target(i, field), i > 1 ? value : kept_derivative(value)};
}

std::vector<KernelSpec::Output> RungeKuttaKernels::reverse_outputs(int i, const std::string& field, Expr gather) const {
  const int s = tableau_.stages(), row = s - i;
  const std::vector<double>& factors = reverse_rows_[at(row)];
  const auto base = [&](int r) { return s - 1 - r == 0 ? 1.0 : tableau_.b[at(s - 2 - r)]; };
  const Expr lambda = graph_.field(StageNames::lambda(field)), own_ybar = factors[at(row)] * h_ * gather;
  if (reverse_elimination_.useful) {
    double own = base(row);
    Expr others = graph_.constant(0.0);
    for (int c = 0; c < row; ++c) {
      const double g = reverse_elimination_.g[at(row)][at(c)];
      own -= g * base(c);
      others = others + g * graph_.field(RungeKuttaNames::mu(field, s - 1 - c));
    }
    return {reverse_output(i, field, own_ybar + (others + own * lambda))};
  }
  Expr sum = own_ybar;
  for (int c = row - 1; c >= 0; --c) sum = sum + factors[at(c)] * graph_.field(RungeKuttaNames::ybar(field, s - c));
  const Expr result = sum + base(row) * lambda;
  if (i == 1) return {reverse_output(i, field, result)};
  return {{RungeKuttaNames::ybar(field, i), h_ * gather}, reverse_output(i, field, result)};
}

std::vector<KernelSpec::Output> RungeKuttaKernels::outputs_with_ghosts(int i, const std::string& field,
                                                                       Expr ghost) const {
  const int row = tableau_.stages() - i;
  const Expr ybar = h_ * ghost;
  const auto added = [&](const std::string& array, Expr value) { return graph_.field(array) + value; };
  const Expr target = added(reverse_target(i, field), reverse_rows_[at(row)][at(row)] * ybar);
  std::vector<KernelSpec::Output> outputs{reverse_output(i, field, target)};
  const std::string own = RungeKuttaNames::ybar(field, i);
  if (!reverse_elimination_.useful && i > 1) outputs.push_back({own, added(own, ybar)});
  return outputs;
}

RungeKuttaKernels::WholeStep RungeKuttaKernels::whole_step() const {
  const int s = tableau_.stages();
  WholeStep whole;
  auto& [slopes, next] = whole;
  std::map<int, Expr> value;  // of the symbols u@2, u@3, ... as expressions of u@1
  for (int i = 1; i <= s; ++i) {
    const std::vector<Expr> own = at_stage(model_, model_.right_hand_sides, std::to_string(i));
    slopes.push_back(substitute(own, [&](const Node& node) {
      const auto known = node.op == Op::field ? value.find(node.symbol) : value.end();
      return known == value.end() ? Expr() : known->second;
    }));
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      const std::string& name = model_.fields[f];
      // Written so that the slope that is known last waits for one multiply-add only.
      Expr result = graph_.field(StageNames::stage(name, 1));
      for (int j = 1; j <= i; ++j) result = forward_rows_[at(i - 1)][at(j - 1)] * h_ * slopes[at(j - 1)][f] + result;
      if (i < s) {
        value[graph_.field(StageNames::stage(name, i + 1)).node().symbol] = result;
      } else {
        next.push_back(result);
      }
    }
  }
  return whole;
}

KernelRequest RungeKuttaKernels::step() const {
  KernelRequest request;
  request.names = {"step", "tangent", "reverse", "", "", "", "trail"};
  request.repeats = model_.dimensions == 0 && active_.series.empty();
  request.expressions = whole_step().next;
  for (const std::string& field : model_.fields) {
    request.states.push_back(StageNames::stage(field, 1));
    request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  for (int i = 1; i <= tableau_.stages(); ++i)
    for (const SeriesVariable& q : series_variables(active_, i, first_sum(i))) request.series.push_back(q);
  request.multiplier = [this](std::size_t r) { return graph_.field(StageNames::lambda(model_.fields[r])); };
  const auto put = [this](KernelSpec& kernel, const std::vector<Expr>& values, const auto& name) {
    for (std::size_t f = 0; f < values.size(); ++f)
      kernel.outputs.push_back({name(RungeKuttaNames::next(model_.fields[f])), values[f]});
  };
  request.epilogue.values = [put](KernelSpec& kernel, const std::vector<Expr>& values) {
    put(kernel, values, [](const std::string& name) { return name; });
  };
  request.epilogue.tangents = [put](KernelSpec& kernel, const std::vector<Expr>& values) {
    put(kernel, values, StageNames::dot);
  };
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    return std::vector<KernelSpec::Output>{{RungeKuttaNames::lambda_next(model_.fields[f]), gather}};
  };
  return request;
}

}  // namespace hindsight
