#include "solvers/steppers/events/jumps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/error.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = -1;  // the name under which states before a jump are bound

std::string after(const std::string& field) {
  return "after(" + field + ")";
}
std::string lambda_before(const std::string& field) {
  return "lambda_before(" + field + ")";
}
std::string lambda_after(const std::string& field) {
  return "lambda_after(" + field + ")";
}

/// The state after jumps that follow each other, as expressions of the one before them.
std::vector<Expr> composed(const Model& model, const std::vector<const Jump*>& jumps) {
  Graph& graph = *model.graph;
  std::vector<Expr> state;
  std::map<int, std::size_t> field_of;  // by symbol
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    state.push_back(graph.field(StageNames::stage(model.fields[f], stage)));
    field_of[state.back().node().symbol] = f;
  }
  for (const Jump* jump : jumps) {
    std::vector<Expr> values;
    for (const Jump::Assignment& assignment : jump->set) values.push_back(assignment.value);
    values = at_stage(model, values, std::to_string(stage));
    values = substitute(values, [&](const Node& node) {
      const auto known = node.op == Op::field ? field_of.find(node.symbol) : field_of.end();
      return known == field_of.end() ? Expr() : state[known->second];
    });
    for (std::size_t i = 0; i < values.size(); ++i) state[jump->set[i].field] = values[i];
  }
  return state;
}

}  // namespace

Jumps::Jumps(const Model& model, const Active& active, const std::vector<Jump>& jumps, const TimeLine& time,
             int first_sum, const Derivatives& wanted)
    : model_(model),
      active_(active),
      time_(time),
      kernels_(model, active, "jump_"),
      series_(model, active),
      which_(time.landings().size(), -1) {
  std::map<std::int64_t, std::vector<const Jump*>> at;
  for (const Jump& jump : jumps)
    for (const double t : jump.times) {
      const std::int64_t landing = time.landing_of(t);
      if (landing + 1 == std::ssize(time.landings()))
        throw InputError(jump.place, fmt::format("the event at t = {:.17g} is so close to the end of the run, t = "
                                                 "{:.17g}, that no step fits between: take it out, or end the run "
                                                 "later",
                                                 t, time.landings().back()));
      at[landing].push_back(&jump);
    }
  std::map<std::vector<const Jump*>, int> numbers;
  for (const auto& [landing, together] : at) {
    const auto [known, is_new] = numbers.try_emplace(together, static_cast<int>(numbers.size()));
    which_[static_cast<std::size_t>(landing)] = known->second;
    if (is_new) kernels_.add(request(numbers.size(), composed(model, together), first_sum));
  }
  kernels_.derive(wanted);
  evaluation_.emplace(model, active, stage, first_sum);
  length_ = model.graph->scalar_index(step_length);
  const auto symbol = [&](const std::string& name) { return int{model.graph->field(name).node().symbol}; };
  for (const std::string& name : model.fields) {
    before_.push_back(symbol(StageNames::stage(name, stage)));
    dot_before_.push_back(symbol(StageNames::dot(StageNames::stage(name, stage))));
    after_.push_back(symbol(after(name)));
    dot_after_.push_back(symbol(StageNames::dot(after(name))));
    lambda_before_.push_back(symbol(lambda_before(name)));
    lambda_after_.push_back(symbol(lambda_after(name)));
  }
}

KernelRequest Jumps::request(std::size_t number, std::vector<Expr> values, int first_sum) const {
  KernelRequest request;
  const auto name = [number](const char* what) { return "jump" + std::to_string(number) + "_" + what; };
  request.names = {name("value"), name("tangent"), name("adjoint"), "", "", ""};
  request.stage = stage;
  request.expressions = std::move(values);
  for (const std::string& field : model_.fields) {
    request.states.push_back(StageNames::stage(field, stage));
    request.multiplier_arrays.push_back(lambda_after(field));
  }
  request.series = series_variables(active_, stage, first_sum);
  request.multiplier = [this](std::size_t f) { return model_.graph->field(lambda_after(model_.fields[f])); };
  const auto put = [this](KernelSpec& kernel, const std::vector<Expr>& found, const auto& array) {
    for (std::size_t f = 0; f < found.size(); ++f) kernel.outputs.push_back({array(after(model_.fields[f])), found[f]});
  };
  request.epilogue.values = [put](KernelSpec& kernel, const std::vector<Expr>& found) {
    put(kernel, found, [](const std::string& array) { return array; });
  };
  request.epilogue.tangents = [put](KernelSpec& kernel, const std::vector<Expr>& found) {
    put(kernel, found, StageNames::dot);
  };
  request.epilogue.gather = [this](std::size_t f, Expr found) {
    return std::vector<KernelSpec::Output>{{lambda_before(model_.fields[f]), found}};
  };
  return request;
}

void Jumps::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  series_.prepare(grid, series);
  kernels_.prepare(grid, tables, series_.knots(), KernelSet::Libraries::one);
}

/// @returns the kernel.
std::size_t Jumps::begin(Tables& tables, StepTime time, double* before) {
  evaluation_->set(tables, series_, time.t);
  if (length_ >= 0) tables.scalar(length_) = time.h;
  tables.bind_state(before_, before);
  return static_cast<std::size_t>(which_[static_cast<std::size_t>(time_.landing_at(time.index))]);
}

void Jumps::apply(Tables& tables, StepTime time, double* before, double* after) {
  const std::size_t kernel = begin(tables, time, before);
  tables.bind_state(after_, after);
  kernels_.kernels()[kernel].run_value(tables);
}

void Jumps::adjoint(Tables& tables, StepTime time, double* before, double* lambda_after, double* lambda_before) {
  const std::size_t kernel = begin(tables, time, before);
  evaluation_->bind_knots(tables, series_, time.t);
  tables.bind_state(lambda_after_, lambda_after);
  tables.bind_state(lambda_before_, lambda_before);
  kernels_.run_gather(kernel, tables, evaluation_->places());
}

void Jumps::tangent(Tables& tables, StepTime time, double* before, double* dot_before, double* dot_after) {
  const std::size_t kernel = begin(tables, time, before);
  evaluation_->set_directions(tables, series_, time.t);
  tables.bind_state(dot_before_, dot_before);
  tables.bind_state(dot_after_, dot_after);
  kernels_.kernels()[kernel].run_tangent(tables);
}

}  // namespace hindsight
