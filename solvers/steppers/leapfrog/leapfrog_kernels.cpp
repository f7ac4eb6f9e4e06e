#include "solvers/steppers/leapfrog/leapfrog_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/tiny_values.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

std::string text_of(LeapfrogStep which) {
  return std::to_string(static_cast<int>(which));
}

/// Of waves that are looked at, the phase from a cell to the next: along each axis one of these. Central differences
/// have their highest frequency at pi, those of a difference of a difference before.
constexpr std::array phases{0.0, 0.5 * std::numbers::pi, 2.0 / 3.0 * std::numbers::pi, std::numbers::pi};

/// The cosine of a wave's phase at an offset. @param wave its place among all, by digits.
double cosine(const Offset& offset, std::size_t wave, int dimensions) {
  double phase = 0.0;
  for (int a = 0; a < dimensions; ++a, wave /= phases.size())
    phase += phases[wave % phases.size()] * offset[static_cast<std::size_t>(a)];
  return std::cos(phase);
}

/// Of an expression: the field symbols that it reads, and where.
std::vector<Node> reads_of(Expr e, const std::vector<std::string>& fields) {
  std::vector<Node> all;
  for (const NodeId id : reachable({e})) {
    const Node& node = e.graph()[id];
    if (node.op == Op::field &&
        std::ranges::find(fields, e.graph().fields()[static_cast<std::size_t>(node.symbol)]) != fields.end())
      all.push_back(node);
  }
  return all;
}

}  // namespace

LeapfrogKernels::LeapfrogKernels(const Model& model, const Active& active, const PointSources& sources)
    : model_(model), active_(active), sources_(sources), graph_(*model.graph), h_(graph_.scalar(step_factor)) {}

int LeapfrogKernels::sums_each() const {
  return EvaluationTime::sums(active_);
}

int LeapfrogKernels::first_sum(LeapfrogStep which) const {
  return static_cast<int>(active_.scalars.size()) + (static_cast<int>(which) - 1) * sums_each();
}

std::vector<Expr> LeapfrogKernels::after(LeapfrogStep which, const std::vector<Expr>& right_hand_sides) const {
  const std::vector<Expr> forces = at_stage(model_, right_hand_sides, text_of(which));
  const std::vector<Expr> damping = at_stage(model_, model_.damping, text_of(which));
  std::vector<Expr> next;
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    const std::string array = StageNames::stage(model_.fields[f], static_cast<int>(which));
    const Expr u = graph_.field(array), v = graph_.field(StageNames::before(array));
    if (which == LeapfrogStep::first) {
      next.push_back((0.5 * (h_ * h_)) * (forces[f] + damping[f] * v) + (h_ * v + u));
      continue;
    }
    const Expr half = (0.5 * h_) * damping[f];
    next.push_back(((h_ * h_) * forces[f] + (2.0 * u - (1.0 + half) * v)) / (1.0 - half));
  }
  return next;
}

bool LeapfrogKernels::is_damped() const {
  return std::ranges::any_of(model_.damping, [](Expr damping) { return !damping.is_constant(0.0); });
}

bool LeapfrogKernels::differentiates_by_sources() const {
  const auto is_among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto is_differentiated = [&](NodeId id) {
    const Node& node = graph_[id];
    if (node.op == Op::scalar) {
      const std::string& name = graph_.scalars()[static_cast<std::size_t>(node.symbol)];
      return is_among(active_.scalars, name) || is_among(active_.series, name);
    }
    if (node.op != Op::field) return false;
    const std::string& name = graph_.fields()[static_cast<std::size_t>(node.symbol)];
    return is_among(active_.parameter_fields, name) || is_among(model_.fields, name);
  };
  return sources_.are_any() && std::ranges::any_of(reachable(model_.damping), is_differentiated);
}

Expr LeapfrogKernels::share_in_any_step(std::size_t field) const {
  const Expr squared = h_ * h_;
  const Expr half = (0.5 * h_) * at_stage(model_, {model_.damping[field]}, text_of(LeapfrogStep::later))[0];
  return where(is_first(), 0.5 * squared, squared / (1.0 - half));
}

KernelRequest LeapfrogKernels::request(LeapfrogStep which) const {
  KernelRequest request;
  const std::string end = which == LeapfrogStep::first ? "_first" : "";
  const auto name = [&](const char* what) { return what + end; };
  request.names = {name("forward"), name("tangent"), name("reverse"), name("border"), name("ring"), name("add")};
  request.stage = static_cast<int>(which);
  request.expressions = after(which, model_.right_hand_sides);
  if (sources_.are_any()) {
    request.at_sources = after(which, sources_.added_to(model_.right_hand_sides));
    request.source_arrays = sources_.arrays();
    if (differentiates_by_sources()) request.expressions = request.at_sources;
  }
  for (const std::string& field : model_.fields) {
    request.states.push_back(StageNames::stage(field, request.stage));
    request.before.push_back(StageNames::before(request.states.back()));
    request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  request.series = series_variables(active_, request.stage, first_sum(which));
  request.multiplier = [this](std::size_t r) { return graph_.field(StageNames::lambda(model_.fields[r])); };
  const auto put = [this](KernelSpec& kernel, const std::vector<Expr>& values, const auto& array) {
    for (std::size_t f = 0; f < values.size(); ++f)
      kernel.outputs.push_back({array(LeapfrogNames::next(model_.fields[f])), values[f]});
  };
  request.epilogue.values = [put, this](KernelSpec& kernel, std::vector<Expr> values) {
    for (Expr& value : values) value = kept(value);
    put(kernel, values, [](const std::string& array) { return array; });
  };
  request.epilogue.tangents = [put, this](KernelSpec& kernel, std::vector<Expr> tangents) {
    for (Expr& tangent : tangents) tangent = kept_derivative(tangent);
    put(kernel, tangents, StageNames::dot);
  };
  using Outputs = std::vector<KernelSpec::Output>;
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    const std::string& field = model_.fields[f];
    return Outputs{{LeapfrogNames::lambda_next(field),
                    kept_derivative(gather - graph_.field(LeapfrogNames::lambda_before(field)))}};
  };
  request.epilogue.gather_before = [this, which](std::size_t f, Expr gather) {
    const bool is_first = which == LeapfrogStep::first;
    if (!is_first && !is_damped()) return Outputs{};
    return Outputs{{LeapfrogNames::lambda_next_before(model_.fields[f]), kept_derivative(is_first ? gather : -gather)}};
  };
  request.epilogue.add = [this](std::size_t f, Expr ghost) {
    const std::string next = LeapfrogNames::lambda_next(model_.fields[f]);
    return Outputs{{next, kept_derivative(graph_.field(next) + ghost)}};
  };
  return request;
}

Expr LeapfrogKernels::squared_frequency() const {
  const std::vector<Expr>& forces = model_.right_hand_sides;
  Expr highest = graph_.constant(0.0);
  for (std::size_t f = 0; f < forces.size(); ++f) {
    highest = max(highest, highest_of(f));
    const Expr driven = max(model_.damping[f], graph_.constant(0.0));  // (1 - h B/2) stays positive
    highest = max(highest, driven * driven);
  }
  const auto reads_state = [&](NodeId id) {
    const Node& node = graph_[id];
    return node.op == Op::field &&
           std::ranges::find(model_.fields, graph_.fields()[node.symbol]) != model_.fields.end();
  };
  const bool changes = std::ranges::any_of(reachable({highest}), reads_state) || depends_on_time(model_, {highest});
  return changes ? Expr() : highest;
}

/// Of one equation; other fields add what they are read by in the cell itself (Gershgorin).
Expr LeapfrogKernels::highest_of(std::size_t f) const {
  const Expr force = model_.right_hand_sides[f];
  Partials partials({force});
  std::vector<std::pair<Offset, Expr>> entries;
  Expr others = graph_.constant(0.0);
  for (const Node& node : reads_of(force, model_.fields)) {
    const std::string name = graph_.fields()[static_cast<std::size_t>(node.symbol)];  // the graph's may move
    const Expr entry = partials.with_respect_to(name, node.offset, "@one")[0];
    if (name == model_.fields[f]) {
      entries.emplace_back(node.offset, entry);
    } else if (node.offset == Offset{0, 0, 0}) {
      others = others + abs(entry);
    }
  }
  std::size_t waves = 1;
  for (int a = 0; a < model_.dimensions; ++a) waves *= phases.size();
  Expr highest = graph_.constant(0.0);
  for (std::size_t wave = 0; wave < waves; ++wave) {
    Expr symbol = others;
    for (const auto& [offset, entry] : entries) symbol = symbol - cosine(offset, wave, model_.dimensions) * entry;
    highest = max(highest, symbol);
  }
  return highest;
}

}  // namespace hindsight
