#include "solvers/steppers/leapfrog/leapfrog_kernels.hpp"

#include <algorithm>

#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

std::string text_of(LeapfrogStep which) {
  return std::to_string(static_cast<int>(which));
}

/// (-1)^(the sum of an offset's components along some axes, given by bits).
double sign(const Offset& offset, unsigned axes) {
  int sum = 0;
  for (std::size_t a = 0; a < 3; ++a)
    if (((axes >> a) & 1U) != 0) sum += offset[a];
  return sum % 2 == 0 ? 1.0 : -1.0;
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
  request.epilogue.values = [put](KernelSpec& kernel, const std::vector<Expr>& values) {
    put(kernel, values, [](const std::string& array) { return array; });
  };
  request.epilogue.tangents = [put](KernelSpec& kernel, const std::vector<Expr>& tangents) {
    put(kernel, tangents, StageNames::dot);
  };
  using Outputs = std::vector<KernelSpec::Output>;
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    const std::string& field = model_.fields[f];
    return Outputs{{LeapfrogNames::lambda_next(field), gather - graph_.field(LeapfrogNames::lambda_before(field))}};
  };
  request.epilogue.gather_before = [this, which](std::size_t f, Expr gather) {
    const bool is_first = which == LeapfrogStep::first;
    if (!is_first && !is_damped()) return Outputs{};
    return Outputs{{LeapfrogNames::lambda_next_before(model_.fields[f]), is_first ? gather : -gather}};
  };
  request.epilogue.add = [this](std::size_t f, Expr ghost) {
    const std::string next = LeapfrogNames::lambda_next(model_.fields[f]);
    return Outputs{{next, graph_.field(next) + ghost}};
  };
  return request;
}

Expr LeapfrogKernels::squared_frequency() const {
  const std::vector<Expr>& forces = model_.right_hand_sides;
  const std::string one = "@one";
  Expr highest = graph_.constant(0.0);
  Partials partials(forces);
  for (std::size_t f = 0; f < forces.size(); ++f) {
    std::vector<std::pair<Offset, Expr>> entries;
    for (const NodeId id : reachable({forces[f]})) {
      const Node node = graph_[id];
      if (node.op != Op::field || node.symbol != graph_.field_index(model_.fields[f])) continue;
      entries.emplace_back(node.offset, partials.with_respect_to(model_.fields[f], node.offset, one)[f]);
    }
    for (unsigned axes = 0; axes < 1U << static_cast<unsigned>(model_.dimensions); ++axes) {
      Expr symbol = graph_.constant(0.0);
      for (const auto& [offset, entry] : entries) symbol = symbol - sign(offset, axes) * entry;
      highest = max(highest, symbol);
    }
  }
  const auto reads_state = [&](NodeId id) {
    const Node& node = graph_[id];
    return node.op == Op::field &&
           std::ranges::find(model_.fields, graph_.fields()[node.symbol]) != model_.fields.end();
  };
  const bool changes = std::ranges::any_of(reachable({highest}), reads_state) || depends_on_time(model_, {highest});
  return changes ? Expr() : highest;
}

}  // namespace hindsight
