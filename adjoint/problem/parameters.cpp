#include "adjoint/problem/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/error.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

struct Parameters::HostSide {
  explicit HostSide(const Discretisation& problem)
      : grid(problem.spec().axes, problem.communicator(), problem.grid().layout().halo, Machine::host(),
             problem.element()),
        tables(*problem.model().graph, grid, 0),
        state(problem.shape().levels * problem.block_doubles()) {}
  Grid grid;
  Tables tables;
  Memory state;
};

Parameters::Parameters(Discretisation& problem)
    : problem_(problem), memory_{problem, {}, {}, [this](int symbol) { exchange(symbol); }} {
  make_symbols();
  for (const ParameterField& p : problem.spec().parameter_fields) {
    field_kernel_.push_back(-1);
    if (!p.expression.is_valid()) continue;
    field_kernel_.back() = 1 + static_cast<int>(field_kernels_.size());
    field_kernels_.push_back({fmt::format("parameter_field{}", field_kernels_.size()), {{p.name, p.expression}}, {}});
  }
  derive_initial();
}

Parameters::~Parameters() = default;

void Parameters::make_symbols() {
  const auto field = [&](const std::string& name) { return int{problem_.model().graph->field(name).node().symbol}; };
  ParameterSymbols& s = memory_.symbols;
  for (const std::string& name : problem_.model().parameter_fields) s.fields.push_back(field(name));
  for (const std::string& name : problem_.active().parameter_fields) {
    s.bars.push_back(field(StageNames::bar(name)));
    s.dots.push_back(field(StageNames::dot(name)));
  }
  ones_ = field("@ones");
}

bool Parameters::is_unknown(Unknown::Kind kind, const std::string& field) const {
  const std::vector<Unknown>& all = problem_.spec().unknowns;
  return std::any_of(all.begin(), all.end(), [&](const Unknown& u) { return u.kind == kind && u.name == field; });
}

/// Of initial states, and rates, that are expressions of parameters.
void Parameters::derive_initial() {
  const SimulationSpec& spec = problem_.spec();
  const Model& model = problem_.model();
  const Active& active = problem_.active();
  Graph& graph = *model.graph;
  std::vector<std::string> arrays;  // of the first state
  std::vector<Expr> free, multipliers;
  const auto add = [&](const std::string& array, Expr given, bool is_free, const std::string& multiplier) {
    arrays.push_back(array);
    initial_.value.outputs.push_back({array, given});
    free.push_back(is_free ? given : graph.constant(0.0));
    multipliers.push_back(graph.field(multiplier));
  };
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    const std::string &name = model.fields[f], array = StageNames::stage(name, 1), lambda = StageNames::lambda(name);
    add(array, spec.initial[f], !is_unknown(Unknown::Kind::initial, name) && !model.is_constrained(f), lambda);
    if (!spec.rates.empty())
      add(StageNames::before(array), spec.rates[f], !is_unknown(Unknown::Kind::rate, name), StageNames::before(lambda));
  }
  const Adjoint own = adjoint(free, multipliers, active.parameter_fields, active.scalars);
  for (std::size_t p = 0; p < active.scalars.size(); ++p)
    if (!own.scalars[p].is_constant(0.0)) initial_.adjoint.sums.push_back({static_cast<int>(p), own.scalars[p]});
  for (std::size_t k = 0; k < active.parameter_fields.size(); ++k) {
    const std::string bar = StageNames::bar(active.parameter_fields[k]);
    if (!own.fields[k].is_constant(0.0)) initial_.adjoint.outputs.push_back({bar, graph.field(bar) + own.fields[k]});
  }
  std::vector<Seed> seeds;
  for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  for (const std::string& name : active.parameter_fields) seeds.push_back({true, name, StageNames::dot(name)});
  const std::vector<Expr> dots = tangent(free, seeds);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    initial_.tangent.outputs.push_back({StageNames::dot(arrays[i]), dots[i]});
  for (KernelSpec* kernel : {&initial_.value, &initial_.adjoint, &initial_.tangent}) *kernel = fused(*kernel);
}

std::int64_t Parameters::arrays() const {
  return std::ssize(memory_.symbols.fields) + 2 * std::ssize(memory_.symbols.bars) + 1;  // and the ones
}

void Parameters::prepare() {
  const Grid& grid = problem_.grid();
  Tables& tables = problem_.tables();
  const ParameterSymbols& s = memory_.symbols;
  problem_.communicator().together([&] {
    for (const std::vector<int>& fields : {s.fields, s.bars, s.dots, {ones_}}) tables.allocate(fields);
  });
  unpack_cells(grid, std::vector<double>(static_cast<std::size_t>(grid.interior().cells()), 1.0).data(),
               tables.cells(ones_));
  compile();
  mirror_walls_ = plain_walls(1, WallRule::slope);
  if (grid.dimensions() > 0 && !s.fields.empty())
    exchange_ = std::make_unique<HaloExchange>(grid, 1, grid.layout().halo, true, problem_.model().graph->element());
  make_sums();
}

void Parameters::compile() {
  const Grid& grid = problem_.grid();
  std::vector<KernelSpec> kernels{initial_.value};
  kernels.insert(kernels.end(), field_kernels_.begin(), field_kernels_.end());
  const Boxes boxes = boxes_of(grid.dimensions());
  first_library_ = KernelLibrary(kernels, boxes, problem_.communicator());
  if (!problem_.machine().is_host()) {
    host_side_ = std::make_unique<HostSide>(problem_);
    host_side_->tables.allocate(memory_.symbols.fields);
  }
  kernels.clear();
  const bool has_adjoint = !initial_.adjoint.roots().empty(), has_tangent = !initial_.tangent.roots().empty();
  if (has_adjoint) kernels.push_back(initial_.adjoint);
  if (has_tangent) kernels.push_back(initial_.tangent);
  initial_library_ = KernelLibrary(kernels, boxes, problem_.communicator(), problem_.machine());
  if (has_adjoint) initial_.run_adjoint = initial_library_[0];
  if (has_tangent) initial_.run_tangent = initial_library_[has_adjoint ? 1 : 0];
}

void Parameters::make_sums() {
  const std::int64_t rows = problem_.grid().local_rows();
  for (std::size_t p = 0; p < problem_.active().scalars.size(); ++p) {
    scalar_sums_.emplace_back(rows, problem_.machine());
    problem_.tables().bind_sum(static_cast<int>(p), scalar_sums_.back().data());
  }
  for (const std::string& name : problem_.active().series) {
    const Series& series = problem_.spec().series[place_of(problem_.model().series, name)];
    series_sums_.emplace_back(rows * std::ssize(series.values), problem_.machine());
    memory_.directions.push_back(series);
  }
}

void Parameters::begin(StateBlocks state) {
  const Model& model = problem_.model();
  write_scalars(problem_.spec().scalar_values);
  for (std::size_t i = 0; i < model.parameter_fields.size(); ++i) {
    fill(i);
    exchange(memory_.symbols.fields[i]);
  }
  problem_.stepper().parameters_changed(problem_.tables(), false);
  problem_.stepper().values_given(problem_.tables(), state.now);
  write_initial(state);
  for (const Unknown& u : problem_.spec().unknowns) {
    MovingCells moving;
    if (u.where.is_valid()) moving = MovingCells(u, problem_, memory_.symbols.fields);
    if (u.is_of_state()) {
      auto place = std::make_unique<InitialField>(memory_, place_of(model.fields, u.name),
                                                  u.kind == Unknown::Kind::rate, std::move(moving));
      initial_fields_.push_back(place.get());
      places_.push_back(std::move(place));
    } else {
      places_.push_back(make_parameter_place(u, memory_, std::move(moving)));
    }
    values_.push_back(places_.back()->first_values());
  }
}

void Parameters::write_scalars(const std::vector<double>& values) {
  const Model& model = problem_.model();
  for (std::size_t i = 0; i < model.scalars.size(); ++i)
    if (const int symbol = model.graph->scalar_index(model.scalars[i]); symbol >= 0)
      problem_.tables().scalar(symbol) = values[i];
}

void Parameters::give(const GivenValues& given, double* state) {
  write_scalars(given.scalars);
  for (std::size_t i = 0; i < given.series.size(); ++i) problem_.set_series(i, given.series[i]);
  for (std::size_t i = 0; i < given.fields.size(); ++i) {
    if (!given.fields[i]) continue;
    problem_.give_field(i, given.fields[i]);
    fill(i);
    exchange(memory_.symbols.fields[i]);
  }
  problem_.objective().set_observations(given.observations);
  if (!given.sources.empty()) problem_.stepper().set_sources(given.sources);
  if (problem_.stepper().keeps_first_values()) {
    fill_unknown_fields(given);
    problem_.stepper().values_given(problem_.tables(), state);
  }
  set(UnknownValues(values_));
}

/// With their first values, but for those that are given: these have them.
void Parameters::fill_unknown_fields(const GivenValues& given) {
  for (const std::string& name : problem_.active().parameter_fields) {
    const std::size_t field = place_of(problem_.model().parameter_fields, name);
    if (field < given.fields.size() && given.fields[field]) continue;
    fill(field);
    exchange(memory_.symbols.fields[field]);
  }
}

/// The owned cells of a parameter field, by the host, from an expression or a function.
void Parameters::fill(std::size_t field) {
  const int symbol = memory_.symbols.fields[field], kernel = field_kernel_[field];
  const Tables& tables = host_side_ ? host_side_->tables : problem_.tables();
  const CellArray cells = tables.cells(symbol);
  const auto& given = problem_.spec().parameter_fields[field].fill;
  if (kernel >= 0) {
    tables.launch(first_library_[static_cast<std::size_t>(kernel)], problem_.grid().interior());
  } else if (cells.element == Element::float64) {
    given(tables.grid(), cells.cell);
  } else {
    const Layout& layout = tables.grid().layout();
    const Memory memory(layout.size, tables.grid().machine());
    const CellArray wide(memory.data() + layout.origin);
    given(tables.grid(), wide.cell);
    const Box box = tables.grid().interior();
    tables.grid().operations().copy(box.extent(), tables.grid().block(box, wide), tables.grid().block(box, cells));
  }
  if (host_side_) problem_.tables().copy_array(symbol, tables, problem_.machine());
}

void Parameters::exchange(int symbol) {
  if (!exchange_) return;
  const std::vector<CellArray> cells{problem_.tables().cells(symbol)};
  exchange_->start(cells, mirror_walls_);
  exchange_->finish(cells, mirror_walls_);
}

void Parameters::set(const UnknownValues& values) {
  require_sizes(values, "values");
  values_ = values;
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i]->set(values[i]);
  problem_.stepper().parameters_changed(problem_.tables(), false);
}

std::int64_t Parameters::bytes() const {
  std::size_t numbers = 0;
  for (const std::vector<double>& values : values_) numbers += values.size();
  return static_cast<std::int64_t>(numbers * sizeof(double));
}

void Parameters::write_initial(StateBlocks state) {
  problem_.tables().bind_state(problem_.symbols().first, state);
  if (host_side_) {
    evaluate_on_host(state);
  } else {
    problem_.tables().launch(first_library_[0], problem_.grid().interior());
  }
  for (const InitialField* field : initial_fields_) field->write_values();
  problem_.stepper().begin(problem_.tables(), start(), state);
}

void Parameters::evaluate_on_host(StateBlocks state) {
  const Model& model = problem_.model();
  Machine& machine = problem_.machine();
  Tables& tables = host_side_->tables;
  for (const std::string& name : model.scalars)
    if (const int symbol = model.graph->scalar_index(name); symbol >= 0)
      tables.scalar(symbol) = problem_.tables().scalar(symbol);
  for (const int symbol : memory_.symbols.fields) tables.copy_array(symbol, problem_.tables(), machine);
  const StateBlocks here = problem_.shape().blocks(host_side_->state.data());
  tables.bind_state(problem_.symbols().first, here);
  tables.launch(first_library_[0], problem_.grid().interior());
  const std::int64_t count = problem_.block_doubles();
  machine.copy(state.now, here.now, count);
  if (state.before != nullptr) machine.copy(state.before, here.before, count);
}

/// As many blocks as there are unknowns, each as long as its values on this rank.
void Parameters::require_sizes(const UnknownValues& given, const char* what) const {
  const std::vector<Unknown>& unknowns = problem_.spec().unknowns;
  std::string problem;
  if (given.size() != unknowns.size())
    problem = fmt::format("{} of {} unknowns are given, there are {}", what, given.size(), unknowns.size());
  for (std::size_t i = 0; problem.empty() && i < given.size(); ++i)
    if (given[i].size() != values_[i].size())
      problem = fmt::format("{} {} of '{}' are given, there are {}{}", given[i].size(), what, unknowns[i].label(),
                            values_[i].size(), unknowns[i].is_field() ? " in this rank's block of cells" : "");
  if (problem = problem_.communicator().first_text(problem); !problem.empty()) throw InputError(problem);
}

void Parameters::set_direction(const UnknownValues& direction) {
  require_sizes(direction, "components of a direction");
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i]->set_direction(direction[i]);
  problem_.stepper().set_series_directions(memory_.directions);
}

StepTime Parameters::start() const {
  return {problem_.spec().from, problem_.spec().step, 0};
}

void Parameters::write_initial_direction(StateBlocks state, StateBlocks direction) {
  problem_.clear(direction);
  problem_.tables().bind_state(problem_.symbols().dot_first, direction);
  if (initial_.run_tangent) problem_.tables().launch(initial_.run_tangent, problem_.grid().interior());
  for (const InitialField* field : initial_fields_) field->write_direction();
  problem_.stepper().begin_tangent(problem_.tables(), start(), state, direction);
}

void Parameters::bind_directions_at(double t) {
  for (const Series& s : memory_.directions)
    if (const int symbol = problem_.model().graph->scalar_index(StageNames::dot(StageNames::stage(s.name, 0)));
        symbol >= 0)
      problem_.tables().scalar(symbol) = s.at(t);
}

std::vector<double*> Parameters::knot_sums() const {
  std::vector<double*> knots;
  for (const Memory& sums : series_sums_) knots.push_back(sums.data());
  return knots;
}

std::vector<CellArray> Parameters::bars() const {
  std::vector<CellArray> cells;
  for (const int bar : memory_.symbols.bars) cells.push_back(problem_.tables().cells(bar));
  return cells;
}

std::vector<const Memory*> Parameters::row_sums() const {
  std::vector<const Memory*> all;
  for (const auto* sums : {&scalar_sums_, &series_sums_})
    for (const Memory& m : *sums) all.push_back(&m);
  return all;
}

void Parameters::clear_sums() {
  for (auto* sums : {&scalar_sums_, &series_sums_})
    for (Memory& m : *sums) m.clear();
  const Grid& grid = problem_.grid();
  const bool is_any = !memory_.symbols.bars.empty();
  const CountedVector<double> zeros(is_any ? static_cast<std::size_t>(grid.interior().cells()) : 0);
  for (const CellArray bar : bars()) unpack_cells(grid, zeros.data(), bar);
}

void Parameters::save_sums(BlockWriter& to) const {
  for (const Memory* sums : row_sums()) to.rows(sums->data(), sums->size() / problem_.grid().local_rows());
  for (const CellArray bar : bars()) to.cells(bar);
}

void Parameters::restore_sums(BlockReader& from) {
  for (const Memory* sums : row_sums()) from.rows(sums->data(), sums->size() / problem_.grid().local_rows());
  for (const CellArray bar : bars()) from.cells(bar);
}

std::int64_t Parameters::sum_bytes() const {
  std::int64_t bytes = 0;
  for (const Memory* sums : row_sums()) bytes += sums->bytes();
  return bytes;
}

void Parameters::complete_initial_adjoint(double* state, double* lambda) {
  problem_.stepper().begin_adjoint(problem_.tables(), start(), state, lambda);
}

void Parameters::add_initial_adjoint() {
  if (initial_.run_adjoint) problem_.tables().launch(initial_.run_adjoint, problem_.grid().interior());
}

DerivativeSums Parameters::sums() const {
  const Grid& grid = problem_.grid();
  DerivativeSums sums;
  for (const Memory& rows : scalar_sums_) sums.scalars.push_back(grid_sum(grid, rows.data()));
  for (const Memory& rows : series_sums_) {
    sums.knots.emplace_back();
    for (std::int64_t k = 0; k < rows.size() / grid.local_rows(); ++k)
      sums.knots.back().push_back(grid_sum(grid, rows.data() + k * grid.local_rows()));
  }
  return sums;
}

}  // namespace hindsight
