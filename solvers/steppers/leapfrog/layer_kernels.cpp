#include "solvers/steppers/leapfrog/layer_kernels.hpp"

#include <algorithm>

#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/tiny_values.hpp"

namespace hindsight {
namespace {

constexpr LeapfrogStep evaluation = LeapfrogStep::later;  // whose names all steps' layers take
constexpr int stage = static_cast<int>(evaluation);

std::string name_of(const MatchedLayer& layer) {
  return std::string(1, "xyz"[layer.axis]) + (layer.side == 0 ? "_lower" : "_upper");
}

}  // namespace

LayerKernels::LayerKernels(const Model& model, const Active& active, const LeapfrogKernels& scheme, std::size_t layer)
    : model_(model),
      active_(active),
      scheme_(scheme),
      layer_(model.layers[layer]),
      graph_(*model.graph),
      name_(name_of(layer_)) {}

std::string LayerKernels::memory(std::size_t term, int i) const {
  return "pml" + std::to_string(i + 1) + "(" + name_ + "," + std::to_string(term) + ")";
}

std::vector<std::string> LayerKernels::memories() const {
  std::vector<std::string> all;
  for (std::size_t t = 0; t < layer_.terms.size(); ++t)
    for (int i = 0; i < 3; ++i) all.push_back(memory(t, i));
  return all;
}

std::vector<std::string> LayerKernels::left_behind() const {
  std::vector<std::string> all;
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) all.push_back(left(t));
  return all;
}

std::string LayerKernels::multiplier(std::size_t term, Root root) {
  static constexpr std::array names{"flux", "second", "factor"};
  return "pml_" + std::string(names[static_cast<std::size_t>(root)]) + "(" + std::to_string(term) + ")";
}

LayerKernels::Profile LayerKernels::profile() const {
  const Expr x = graph_.coordinate(layer_.axis), h = scheme_.h();
  const bool is_lower = layer_.side == 0;
  const Expr depth =
      (1.0 / layer_.width) * (is_lower ? (layer_.wall + layer_.width) - x : x - (layer_.wall - layer_.width));
  const Expr d = graph_.scalar(damping()) * (depth * depth);
  const Expr slope = ((is_lower ? -2.0 : 2.0) / layer_.width) * (graph_.scalar(damping()) * depth);
  const Expr half = (0.5 * h) * (graph_.scalar(shift()) + d), one = graph_.constant(1.0);
  const Expr inverse = one / (one + half);
  return {d, slope, (one - half) * inverse, h * inverse};
}

std::vector<Expr> LayerKernels::staged(const std::vector<Expr>& expressions) const {
  return at_stage(model_, expressions, std::to_string(stage));
}

Expr LayerKernels::factor(std::size_t t) const {
  return scheme_.share_in_any_step(term(t).field) * staged({term(t).factor})[0];
}

LayerKernels::Memories LayerKernels::memories_of(std::size_t t, const Profile& p) const {
  const std::vector<Expr> roots = staged({term(t).first, term(t).second});
  const Expr flux = roots[0], second = roots[1];
  Memories m;
  for (int i = 0; i < 3; ++i) m.before[static_cast<std::size_t>(i)] = graph_.field(memory(t, i));
  const Expr stretched = p.d * second, sloped = p.slope * flux;  // d S, d' F
  m.after[2] = p.keep * m.before[2] - p.add * (p.d * (p.d * sloped));
  m.after[1] = p.keep * m.before[1] + p.add * (0.5 * (m.before[2] + m.after[2]) + p.d * (stretched + 2.0 * sloped));
  m.after[0] = p.keep * m.before[0] + p.add * (0.5 * (m.before[1] + m.after[1]) - (2.0 * stretched + sloped));
  return m;
}

std::vector<KernelSpec::Output> LayerKernels::added(const std::vector<Expr>& both) const {
  std::vector<KernelSpec::Output> outputs;
  std::vector<Expr> sums(model_.fields.size(), graph_.constant(0.0));
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) {
    Expr& sum = sums[term(t).field];
    sum = sum + (0.5 * factor(t)) * both[t];
  }
  for (std::size_t f = 0; f < sums.size(); ++f) {
    const std::string next = LeapfrogNames::next(model_.fields[f]);
    if (!sums[f].is_constant(0.0)) outputs.push_back({next, graph_.field(next) + sums[f]});
  }
  return outputs;
}

std::vector<KernelSpec::Output> LayerKernels::after_step() const {
  std::vector<KernelSpec::Output> outputs;
  const Profile p = profile();
  std::vector<Expr> both;
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) {
    const Memories m = memories_of(t, p);
    for (int i = 0; i < 3; ++i)
      outputs.push_back({LeapfrogNames::next(memory(t, i)), m.after[static_cast<std::size_t>(i)]});
    both.push_back(m.before[0] + m.after[0]);
  }
  for (const KernelSpec::Output& output : added(both)) outputs.push_back(output);
  return outputs;
}

std::vector<KernelSpec::Output> LayerKernels::kept(std::vector<KernelSpec::Output> outputs) const {
  for (KernelSpec::Output& output : outputs) output.value = hindsight::kept(output.value);
  return outputs;
}

KernelSpec LayerKernels::value() const {
  return fused({"pml_" + name_, kept(after_step()), {}});
}

KernelSpec LayerKernels::leaving() const {
  KernelSpec kernel{"pml_leaving_" + name_, kept(after_step()), {}};
  const Profile p = profile();
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) {
    const Memories m = memories_of(t, p);
    kernel.outputs.push_back({left(t), m.before[0] + m.after[0]});
  }
  return fused(kernel);
}

std::vector<Expr> LayerKernels::both_left() const {
  std::vector<Expr> both;
  for (const std::string& array : left_behind()) both.push_back(graph_.field(array));
  return both;
}

/// Leapfrog's step is its own inverse but for what is added, which is the same both ways.
KernelSpec LayerKernels::retreat() const {
  return fused({"pml_retreat_" + name_, kept(added(both_left())), {}});
}

std::vector<Seed> LayerKernels::seeds() const {
  std::vector<Seed> all;
  const auto add = [&](bool is_field, const std::string& name) {
    all.push_back({is_field, name, StageNames::dot(name)});
  };
  for (const std::string& field : model_.fields) {
    add(true, StageNames::stage(field, stage));
    add(true, LeapfrogNames::next(field));
  }
  for (const std::string& name : memories()) add(true, name);
  for (const std::string& name : active_.parameter_fields) add(true, name);
  for (const std::string& name : active_.scalars) add(false, name);
  for (const SeriesVariable& q : series_variables(active_, stage, scheme_.first_sum(evaluation))) add(false, q.name);
  return all;
}

KernelSpec LayerKernels::tangent() const {
  KernelSpec kernel{"pml_tangent_" + name_, {}, {}};
  const std::vector<KernelSpec::Output> values = after_step();
  std::vector<Expr> roots;
  for (const KernelSpec::Output& output : values) roots.push_back(output.value);
  const std::vector<Expr> tangents = hindsight::tangent(roots, seeds());
  for (std::size_t i = 0; i < values.size(); ++i)
    kernel.outputs.push_back({StageNames::dot(values[i].field), kept_derivative(tangents[i])});
  return fused(kernel);
}

bool LayerKernels::has_active_factor(std::size_t t) const {
  const auto is_active = [&](NodeId id) {
    const Node& node = graph_[id];
    if (node.op == Op::scalar) return std::ranges::count(active_.scalars, graph_.scalars()[node.symbol]) > 0;
    return node.op == Op::field && std::ranges::count(active_.parameter_fields, graph_.fields()[node.symbol]) > 0;
  };
  return std::ranges::any_of(reachable({factor(t)}), is_active);
}

KernelSpec LayerKernels::adjoint() const {
  return adjoint("pml_reverse_" + name_, nullptr);
}

KernelSpec LayerKernels::adjoint_of_left() const {
  const std::vector<Expr> both = both_left();
  return adjoint("pml_reverse_left_" + name_, &both);
}

KernelSpec LayerKernels::adjoint(const std::string& name, const std::vector<Expr>* both) const {
  KernelSpec kernel{name, {}, {}};
  const Profile p = profile();
  const Expr half_add = 0.5 * p.add;
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) {
    const Memories m = memories_of(t, p);
    std::array<Expr, 3> after;
    for (int i = 0; i < 3; ++i) after[static_cast<std::size_t>(i)] = graph_.field(StageNames::lambda(memory(t, i)));
    const Expr lambda = graph_.field(StageNames::lambda(model_.fields[term(t).field]));
    const Expr mean = (0.5 * factor(t)) * lambda;
    const Expr first = after[0] + mean, second = after[1] + half_add * first, third = after[2] + half_add * second;
    const std::array<Expr, 3> before{p.keep * first + mean, p.keep * second + half_add * first,
                                     p.keep * third + half_add * second};
    for (int i = 0; i < 3; ++i)
      kernel.outputs.push_back(
          {LeapfrogNames::lambda_next(memory(t, i)), kept_derivative(before[static_cast<std::size_t>(i)])});
    const Expr flux = p.d * (2.0 * second - p.d * third) - first;
    kernel.outputs.push_back({multiplier(t, Root::flux), p.add * (p.slope * flux)});
    kernel.outputs.push_back({multiplier(t, Root::second), p.add * (p.d * (p.d * second - 2.0 * first))});
    if (has_active_factor(t))
      kernel.outputs.push_back(
          {multiplier(t, Root::factor), (0.5 * lambda) * (both != nullptr ? (*both)[t] : m.before[0] + m.after[0])});
  }
  return fused(kernel);
}

KernelSpec LayerKernels::speed() const {
  std::vector<Expr> squared(model_.fields.size(), graph_.constant(0.0));
  for (const StretchedTerm& term : layer_.terms)
    squared[term.field] =
        squared[term.field] + squared_speed(term, model_.fields[term.field], layer_.axis, layer_.spacing());
  Expr highest = squared[0];
  for (const Expr& other : squared) highest = max(highest, other);
  return fused({"pml_speed_" + name_, {{LeapfrogNames::next(model_.fields[0]), highest}}, {}});
}

KernelRequest LayerKernels::roots() const {
  KernelRequest request;
  const std::string axis(1, "xyz"[layer_.axis]);
  const auto name = [&](const char* what) { return "pml_" + std::string(what) + "_" + axis; };
  request.names = {name("forward"), name("tangent"), name("gather"), name("border"), name("ring"), name("add")};
  request.stage = stage;
  std::vector<Expr> multipliers;
  const auto add = [&](std::size_t t, Root root, Expr value) {
    request.expressions.push_back(value);
    request.multiplier_arrays.push_back(multiplier(t, root));
    multipliers.push_back(graph_.field(multiplier(t, root)));
  };
  for (std::size_t t = 0; t < layer_.terms.size(); ++t) {
    const std::vector<Expr> both = staged({term(t).first, term(t).second});
    add(t, Root::flux, both[0]);
    add(t, Root::second, both[1]);
    if (has_active_factor(t)) add(t, Root::factor, factor(t));
  }
  for (const std::string& field : model_.fields) request.states.push_back(StageNames::stage(field, stage));
  request.series = series_variables(active_, stage, scheme_.first_sum(evaluation));
  request.multiplier = [multipliers](std::size_t r) { return multipliers[r]; };
  request.epilogue.values = [](KernelSpec&, const std::vector<Expr>&) {};
  request.epilogue.tangents = request.epilogue.values;
  using Outputs = std::vector<KernelSpec::Output>;
  const auto add_to = [&model = model_, &scheme = scheme_](std::size_t f, Expr gather) {
    if (gather.is_constant(0.0)) return Outputs{};
    const std::string next = LeapfrogNames::lambda_next(model.fields[f]);
    return Outputs{{next, kept_derivative(model.graph->field(next) + gather)}};
  };
  request.epilogue.gather = add_to;
  request.epilogue.add = add_to;
  return request;
}

}  // namespace hindsight
