#include "solvers/steppers/implicit/jacobian_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 1;

std::string slope_of(const std::string& field) {
  return "slope(" + field + ")";
}

/// Offsets at which expressions read a field, in order.
std::set<Offset> offsets_of(const Graph& graph, const std::vector<NodeId>& nodes, int symbol) {
  std::set<Offset> offsets;
  for (const NodeId id : nodes)
    if (const Node& node = graph[id]; node.op == Op::field && node.symbol == symbol) offsets.insert(node.offset);
  return offsets;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool depends_on_scalar_parameters_alone(const Model& model, Expr value) {
  const Graph& graph = *model.graph;
  return std::ranges::all_of(reachable({value}), [&](NodeId id) {
    const Node& node = graph[id];
    if (node.op == Op::scalar) return is_among(model.scalars, graph.scalars()[static_cast<std::size_t>(node.symbol)]);
    return arity(node.op) > 0 || node.op == Op::constant;
  });
}

}  // namespace

std::vector<SystemVariable> all_variables(const Model& model) {
  std::vector<SystemVariable> all;
  for (std::size_t f = 0; f < model.fields.size(); ++f) all.push_back({f, model.is_constrained(f) ? 0.0 : 1.0});
  return all;
}

std::vector<SystemVariable> constrained_variables(const Model& model) {
  std::vector<SystemVariable> all = all_variables(model);
  std::erase_if(all, [](const SystemVariable& v) { return v.mass != 0.0; });
  return all;
}

JacobianEntries::JacobianEntries(const Model& model, const Active& active, std::vector<SystemVariable> variables,
                                 const std::string& prefix)
    : model_(model), active_(active), variables_(std::move(variables)), kernels_(model, active, prefix + "jacobian_") {
  Graph& graph = *model.graph;
  for (const std::string& field : model.fields) {
    state_.push_back(graph.field(StageNames::stage(field, stage)).node().symbol);
    slope_.push_back(graph.field(slope_of(field)).node().symbol);
  }
  KernelRequest request;
  request.names.value = "rhs_jacobian";
  request.stage = stage;
  std::vector<Expr> equations;
  std::vector<int> arrays;
  for (const SystemVariable& variable : variables_) {
    equations.push_back(model.right_hand_sides[variable.field]);
    arrays.push_back(slope_[variable.field]);
  }
  request.expressions = at_stage(model, equations, std::to_string(stage));
  for (const std::string& field : model.fields) request.states.push_back(StageNames::stage(field, stage));
  request.ghosts = StateGhosts::at_every_pass;
  derive(request, prefix);
  find_parameters();
  find_dependence(request.expressions);
  request.expressions.insert(request.expressions.end(), written_.begin(), written_.end());
  for (const Entry& entry : entries_)
    if (entry.symbol >= 0) arrays.push_back(entry.symbol);
  request.epilogue.values = [&graph, arrays](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      kernel.outputs.push_back({graph.fields()[static_cast<std::size_t>(arrays[i])], values[i]});
  };
  kernels_.add(std::move(request));
  kernels_.derive({});
  time_.emplace(model, active, stage, 0);
  length_ = graph.scalar_index(step_length);
}

void JacobianEntries::derive(const KernelRequest& request, const std::string& prefix) {
  Partials slopes(request.expressions);
  const std::vector<NodeId> nodes = reachable(request.expressions);
  for (int c = 0; c < static_cast<int>(variables_.size()); ++c) {
    const std::size_t field = variables_[static_cast<std::size_t>(c)].field;
    for (const Offset& offset : offsets_of(*model_.graph, nodes, state_[field])) {
      const std::string& state = request.states[field];
      const std::vector<Expr> column = slopes.with_respect_to(state, offset, StageNames::dot(state));
      for (int r = 0; r < static_cast<int>(column.size()); ++r) {
        const Expr partial = column[static_cast<std::size_t>(r)];
        if (!partial.is_constant(0.0)) add({r, c, offset}, partial, prefix);
      }
    }
  }
}

void JacobianEntries::add(Entry entry, Expr partial, const std::string& prefix) {
  Graph& graph = *model_.graph;
  if (partial.is_constant()) {
    entry.everywhere = partial.node().value;
  } else if (depends_on_scalar_parameters_alone(model_, partial)) {
    uniform_.push_back({entries_.size(), partial});
  } else {
    const auto& [x, y, z] = entry.offset;
    entry.symbol =
        graph.field(fmt::format("{}jacobian({},{},{},{},{})", prefix, entry.row, entry.column, x, y, z)).node().symbol;
    written_.push_back(partial);
  }
  entries_.push_back(entry);
}

void JacobianEntries::find_parameters() {
  std::vector<Expr> values;
  for (const Uniform& uniform : uniform_) values.push_back(uniform.value);
  for (const NodeId id : reachable(values))
    if (const Node& node = (*model_.graph)[id]; node.op == Op::scalar) parameters_.push_back(node.symbol);
}

/// Where parameters are as they were, nothing is done.
void JacobianEntries::evaluate_uniform(Tables& tables) {
  std::vector<double>& known = parameter_values_;
  const auto is_known = [&](std::size_t i) { return known[i] == tables.scalar(parameters_[i]); };
  bool are_known = known.size() == parameters_.size();
  for (std::size_t i = 0; i < parameters_.size() && are_known; ++i) are_known = is_known(i);
  if (are_known) return;
  known.clear();
  for (const int symbol : parameters_) known.push_back(tables.scalar(symbol));
  std::vector<Expr> values;
  for (const Uniform& uniform : uniform_) values.push_back(uniform.value);
  const std::vector<double> found = interpret(values, {[&](int symbol) { return tables.scalar(symbol); }, {}, {}});
  for (std::size_t i = 0; i < uniform_.size(); ++i) entries_[uniform_[i].entry].everywhere = found[i];
}

/// @param slopes may be different sides of a threshold, with entries that are the same on both.
void JacobianEntries::find_dependence(const std::vector<Expr>& slopes) {
  const Graph& graph = *model_.graph;
  std::vector<int> unknown;
  for (const SystemVariable& variable : variables_) unknown.push_back(state_[variable.field]);
  const auto is_unknown = [&](const Node& node) {
    return node.op == Op::field && std::ranges::find(unknown, int{node.symbol}) != unknown.end();
  };
  std::vector<bool> reads_state(graph.size(), false);
  for (const NodeId id : reachable(slopes)) {
    const Node& node = graph[id];
    reads_state[id] = is_unknown(node);
    for (std::size_t i = 0; i < static_cast<std::size_t>(arity(node.op)); ++i)
      reads_state[id] = reads_state[id] || reads_state[node.args[i]];
    const bool compares = node.op == Op::less || node.op == Op::less_equal || node.op == Op::equal;
    is_linear_ = is_linear_ && !(compares && reads_state[id]);
  }
  std::vector<Expr> all = written_;
  for (const Uniform& uniform : uniform_) all.push_back(uniform.value);
  for (const NodeId id : reachable(all)) {
    const Node& node = graph[id];
    if (node.op == Op::field || node.op == Op::scalar) {
      const std::vector<std::string>& names = node.op == Op::field ? graph.fields() : graph.scalars();
      const std::vector<std::string>& unknown_ones = node.op == Op::field ? active_.parameter_fields : active_.scalars;
      const std::vector<std::string>& parameters = node.op == Op::field ? model_.parameter_fields : model_.scalars;
      const std::string& name = names[static_cast<std::size_t>(node.symbol)];
      depends_on_parameters_ = depends_on_parameters_ || is_among(parameters, name);
      depends_on_unknowns_ = depends_on_unknowns_ || is_among(unknown_ones, name);
    }
  }
  for (const NodeId id : reachable(written_)) {
    const Node& node = graph[id];
    if (node.op == Op::field) {
      is_linear_ = is_linear_ && !is_unknown(node);
      is_fixed_ = is_fixed_ && is_among(model_.parameter_fields, graph.fields()[static_cast<std::size_t>(node.symbol)]);
    } else if (node.op == Op::scalar) {
      is_fixed_ = is_fixed_ && is_among(model_.scalars, graph.scalars()[static_cast<std::size_t>(node.symbol)]);
    }
  }
}

void JacobianEntries::prepare(const Grid& grid, Tables& tables) {
  std::vector<int> arrays;
  for (const Entry& entry : entries_)
    if (entry.symbol >= 0) arrays.push_back(entry.symbol);
  grid.communicator().together([&] { tables.allocate(arrays); });
  for (Entry& entry : entries_)
    if (entry.symbol >= 0) entry.cells = tables.field(entry.symbol) - grid.layout().origin;
  kernels_.prepare(grid, tables, {}, KernelSet::Libraries::one, longest_beside_systems);
}

void JacobianEntries::evaluate(Tables& tables, const SeriesData& series, StepTime at, double* u, double* slope) {
  if (length_ >= 0) tables.scalar(length_) = at.h;
  time_->set(tables, series, at.t);
  tables.fill_noise(kernels_.noise(Direction::forward), at.index);
  evaluate_uniform(tables);
  kernels_.evaluate_walls(tables);
  tables.bind_state(state_, u);
  tables.bind_state(slope_, slope);
  kernels_.kernels().front().run_value(tables);
}

}  // namespace hindsight
