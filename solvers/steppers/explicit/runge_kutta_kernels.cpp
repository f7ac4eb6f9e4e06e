#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace hindsight {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

bool is_same(const Adjoint& a, const Adjoint& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), [](Expr x, Expr y) { return x.same_as(y); });
}

}  // namespace

RungeKuttaKernels::RungeKuttaKernels(const Model& model, const Tableau& tableau, const Active& active)
    : model_(model),
      tableau_(tableau),
      active_(active),
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

SumNumbers RungeKuttaKernels::sum_numbers() const {
  return {static_cast<int>(active_.scalars.size()), static_cast<int>(active_.series.size()), tableau_.stages()};
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

std::vector<KernelSpec> RungeKuttaKernels::forward() const {
  if (pointwise_) return {step_pointwise()};
  std::vector<KernelSpec> kernels;
  const int s = tableau_.stages();
  for (int i = 1; i <= s; ++i) {
    KernelSpec kernel{fmt::format("forward{}", i), {}, {}};
    const std::vector<Expr> slopes = at_stage(model_, model_.right_hand_sides, std::to_string(i));
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      const std::string& name = model_.fields[f];
      kernel.outputs.push_back({i < s ? StageNames::stage(name, i + 1) : RungeKuttaNames::next(name),
                                combine_forward(i, name, slopes[f], false)});
      if (!forward_elimination_.useful && i < s) kernel.outputs.push_back({RungeKuttaNames::slope(name, i), slopes[f]});
    }
    kernels.push_back(fused(kernel));
  }
  return kernels;
}

std::vector<Expr> RungeKuttaKernels::whole_step() const {
  const int s = tableau_.stages();
  std::vector<std::vector<Expr>> slopes;
  std::map<int, Expr> value;  // of the symbols u@2, u@3, ... as expressions of u@1
  std::vector<Expr> next;
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
  return next;
}

KernelSpec RungeKuttaKernels::step_pointwise() const {
  KernelSpec kernel{"step", {}, {}};
  const std::vector<Expr> next = whole_step();
  for (std::size_t f = 0; f < next.size(); ++f)
    kernel.outputs.push_back({RungeKuttaNames::next(model_.fields[f]), next[f]});
  return fused(kernel);
}

Adjoint RungeKuttaKernels::gather(int i, const std::vector<Expr>& seeds, const Mask& mask) const {
  std::vector<std::string> fields, scalars = active_.scalars;
  for (const std::string& name : model_.fields) fields.push_back(StageNames::stage(name, i));
  for (const std::string& name : active_.parameter_fields) fields.push_back(name);
  for (const std::string& name : active_.series) scalars.push_back(StageNames::stage(name, i));
  return adjoint(at_stage(model_, model_.right_hand_sides, std::to_string(i)), seeds, fields, scalars, mask);
}

void RungeKuttaKernels::add_sums(KernelSpec& kernel, int i, const Adjoint& gather) const {
  const SumNumbers numbers = sum_numbers();
  for (int p = 0; p < numbers.scalars; ++p) {
    const Expr summand = gather.scalars[at(p)];
    if (!summand.is_constant(0.0)) kernel.sums.push_back({numbers.scalar(p), h_ * summand});
  }
  for (int q = 0; q < numbers.series; ++q) {
    const Expr summand = gather.scalars[at(numbers.scalars + q)];
    if (summand.is_constant(0.0)) continue;
    for (int knot = 0; knot < 2; ++knot)
      kernel.sums.push_back({numbers.knot(q, i, knot),
                             graph_.scalar(StageNames::weight(active_.series[at(q)], i, knot)) * (h_ * summand)});
  }
}

KernelSpec RungeKuttaKernels::reverse_main(int row, const Adjoint& gather) const {
  const int s = tableau_.stages(), i = s - row;
  const std::vector<double>& factors = reverse_rows_[at(row)];
  const auto base = [&](int r) { return s - 1 - r == 0 ? 1.0 : tableau_.b[at(s - 2 - r)]; };
  KernelSpec kernel{fmt::format("reverse{}", i), {}, {}};
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    const std::string& name = model_.fields[f];
    const Expr lambda = graph_.field(StageNames::lambda(name)), own_ybar = factors[at(row)] * h_ * gather.fields[f];
    Expr result;
    if (reverse_elimination_.useful) {
      double own = base(row);
      Expr others = graph_.constant(0.0);
      for (int c = 0; c < row; ++c) {
        const double g = reverse_elimination_.g[at(row)][at(c)];
        own -= g * base(c);
        others = others + g * graph_.field(RungeKuttaNames::mu(name, s - 1 - c));
      }
      result = own_ybar + (others + own * lambda);
    } else {
      Expr sum = own_ybar;
      for (int c = row - 1; c >= 0; --c) sum = sum + factors[at(c)] * graph_.field(RungeKuttaNames::ybar(name, s - c));
      result = sum + base(row) * lambda;
      if (i > 1) kernel.outputs.push_back({RungeKuttaNames::ybar(name, i), h_ * gather.fields[f]});
    }
    kernel.outputs.push_back({i > 1 ? RungeKuttaNames::mu(name, i - 1) : RungeKuttaNames::lambda_next(name), result});
  }
  for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
    const std::string bar = StageNames::bar(active_.parameter_fields[k]);
    const Expr own = gather.fields[model_.fields.size() + k];
    if (!own.is_constant(0.0)) kernel.outputs.push_back({bar, graph_.field(bar) + h_ * own});
  }
  add_sums(kernel, i, gather);
  return fused(kernel);
}

void RungeKuttaKernels::reverse_walls(ReverseStage& stage, int row, const Adjoint& gather) const {
  stage.ring.name = fmt::format("ring{}", stage.stage);
  stage.add.name = fmt::format("add{}", stage.stage);
  const auto add = [&](const std::string& output, Expr value) {
    stage.add.outputs.push_back({output, graph_.field(output) + value});
  };
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    const std::string& name = model_.fields[f];
    stage.ring.outputs.push_back({StageNames::ghost(name), gather.fields[f]});
    const Expr ybar = h_ * graph_.field(StageNames::ghost(name));
    add(stage.stage > 1 ? RungeKuttaNames::mu(name, stage.stage - 1) : RungeKuttaNames::lambda_next(name),
        reverse_rows_[at(row)][at(row)] * ybar);
    if (!reverse_elimination_.useful && stage.stage > 1) add(RungeKuttaNames::ybar(name, stage.stage), ybar);
  }
  for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
    const std::string& name = active_.parameter_fields[k];
    const Expr own = gather.fields[model_.fields.size() + k];
    if (own.is_constant(0.0)) continue;
    stage.ring.outputs.push_back({StageNames::ghost(name), own});
    add(StageNames::bar(name), h_ * graph_.field(StageNames::ghost(name)));
  }
  stage.ring = fused(stage.ring);
  stage.add = fused(stage.add);
}

std::vector<ReverseStage> RungeKuttaKernels::reverse() const {
  if (pointwise_) return {{0, reverse_pointwise(), {}, {}, {}}};
  std::vector<ReverseStage> stages;
  const int s = tableau_.stages();
  bool walls = false;
  for (const bool has : model_.has_walls) walls = walls || has;
  for (int row = 0; row < s; ++row) {
    const int i = s - row;
    std::vector<Expr> seeds, multipliers;
    for (const std::string& name : model_.fields) {
      multipliers.push_back(graph_.field(i == s ? StageNames::lambda(name) : RungeKuttaNames::mu(name, i)));
      seeds.push_back(i == s ? tableau_.b[at(s - 1)] * multipliers.back() : multipliers.back());
    }
    const Adjoint own = gather(i, seeds);
    ReverseStage stage;
    stage.stage = i;
    stage.main = reverse_main(row, own);
    if (walls) {
      const Expr live = any_not_zero(multipliers);
      const Adjoint near_walls = gather(i, seeds, {live, false}), beyond_walls = gather(i, seeds, {live, true});
      if (!is_same(own, near_walls)) {
        stage.border = reverse_main(row, near_walls);
        stage.border.name = fmt::format("border{}", i);
      }
      reverse_walls(stage, row, beyond_walls);
    }
    stages.push_back(stage);
  }
  return stages;
}

KernelSpec RungeKuttaKernels::reverse_pointwise() const {
  const SumNumbers numbers = sum_numbers();
  const std::size_t n = model_.fields.size();
  std::vector<Expr> lambdas;
  std::vector<std::string> fields, scalars = active_.scalars;
  for (const std::string& name : model_.fields) {
    lambdas.push_back(graph_.field(StageNames::lambda(name)));
    fields.push_back(StageNames::stage(name, 1));
  }
  for (const std::string& name : active_.parameter_fields) fields.push_back(name);
  for (const std::string& name : active_.series)
    for (int i = 1; i <= numbers.stages; ++i) scalars.push_back(StageNames::stage(name, i));
  const Adjoint own = adjoint(whole_step(), lambdas, fields, scalars);
  KernelSpec kernel{"reverse", {}, {}};
  for (std::size_t f = 0; f < n; ++f)
    kernel.outputs.push_back({RungeKuttaNames::lambda_next(model_.fields[f]), own.fields[f]});
  for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
    const std::string bar = StageNames::bar(active_.parameter_fields[k]);
    if (!own.fields[n + k].is_constant(0.0)) kernel.outputs.push_back({bar, graph_.field(bar) + own.fields[n + k]});
  }
  std::size_t next = 0;
  for (int p = 0; p < numbers.scalars; ++p, ++next)
    if (!own.scalars[next].is_constant(0.0)) kernel.sums.push_back({numbers.scalar(p), own.scalars[next]});
  for (int q = 0; q < numbers.series; ++q)
    for (int i = 1; i <= numbers.stages; ++i, ++next)
      for (int knot = 0; knot < 2 && !own.scalars[next].is_constant(0.0); ++knot)
        kernel.sums.push_back({numbers.knot(q, i, knot),
                               graph_.scalar(StageNames::weight(active_.series[at(q)], i, knot)) * own.scalars[next]});
  return fused(kernel);
}

std::vector<Seed> RungeKuttaKernels::tangent_seeds(const std::vector<int>& stages) const {
  std::vector<Seed> seeds;
  for (const int i : stages) {
    for (const std::string& name : model_.fields)
      seeds.push_back({true, StageNames::stage(name, i), StageNames::dot(StageNames::stage(name, i))});
    for (const std::string& name : active_.series)
      seeds.push_back({false, StageNames::stage(name, i), StageNames::dot(StageNames::stage(name, i))});
  }
  for (const std::string& name : active_.parameter_fields) seeds.push_back({true, name, StageNames::dot(name)});
  for (const std::string& name : active_.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  return seeds;
}

KernelSpec RungeKuttaKernels::tangent_pointwise() const {
  std::vector<int> stages(at(tableau_.stages()));
  std::iota(stages.begin(), stages.end(), 1);
  const std::vector<Expr> dots = hindsight::tangent(whole_step(), tangent_seeds(stages));
  KernelSpec kernel{"tangent", {}, {}};
  for (std::size_t f = 0; f < dots.size(); ++f)
    kernel.outputs.push_back({StageNames::dot(RungeKuttaNames::next(model_.fields[f])), dots[f]});
  return fused(kernel);
}

std::vector<KernelSpec> RungeKuttaKernels::tangent() const {
  if (pointwise_) return {tangent_pointwise()};
  std::vector<KernelSpec> kernels;
  const int s = tableau_.stages();
  for (int i = 1; i <= s; ++i) {
    const std::vector<Expr> slopes =
        hindsight::tangent(at_stage(model_, model_.right_hand_sides, std::to_string(i)), tangent_seeds({i}));
    KernelSpec kernel{fmt::format("tangent{}", i), {}, {}};
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      const std::string& name = model_.fields[f];
      const std::string target = i < s ? StageNames::stage(name, i + 1) : RungeKuttaNames::next(name);
      kernel.outputs.push_back({StageNames::dot(target), combine_forward(i, name, slopes[f], true)});
      if (!forward_elimination_.useful && i < s)
        kernel.outputs.push_back({StageNames::dot(RungeKuttaNames::slope(name, i)), slopes[f]});
    }
    kernels.push_back(fused(kernel));
  }
  return kernels;
}

}  // namespace hindsight
