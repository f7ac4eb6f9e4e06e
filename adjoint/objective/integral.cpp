#include "adjoint/objective/integral.hpp"

#include <algorithm>

#include "runtime/ordered_sum.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 0;  // the name under which states are bound for objective terms

bool reads_neighbours(Expr e) {
  const std::vector<Reach> all = reach({e});
  return std::any_of(all.begin(), all.end(), [](const Reach& r) { return r.depth != std::array<int, 3>{0, 0, 0}; });
}

}  // namespace

std::vector<Expr> IntegralSpec::reads() const {
  return weight != 0 ? std::vector<Expr>{integrand} : std::vector<Expr>();
}

std::unique_ptr<Term> IntegralSpec::make(const TermPlace& place) const {
  return std::make_unique<Integral>(*this, place);
}

Integral::Integral(IntegralSpec spec, const TermPlace& place)
    : model_(place.model),
      active_(place.active),
      spec_(std::move(spec)),
      value_sum_(place.first_sum),
      tangent_sum_(place.first_sum + 1),
      kernels_(model_, active_, "term" + std::to_string(place.number) + "_"),
      series_(model_, active_),
      length_(model_.graph->scalar_index(step_length)) {
  const Expr weight = model_.graph->scalar("@weight");
  weight_ = weight.node().symbol;
  kernels_.add(request(place.number, weight));
  kernels_.derive({.adjoint = true, .tangent = true});
  time_.emplace(model_, active_, stage, tangent_sum_ + 1);
}

KernelRequest Integral::request(int number, Expr weight) const {
  Graph& graph = *model_.graph;
  const auto name = [number](const char* what) { return "term" + std::to_string(number) + "_" + what; };
  KernelRequest request;
  request.names = {name("value"), name("tangent"), name("adjoint"), name("border"), name("ring"), name("add")};
  request.stage = stage;
  request.expressions = at_stage(model_, {spec_.integrand}, std::to_string(stage));
  for (const std::string& field : model_.fields) request.states.push_back(StageNames::stage(field, stage));
  request.series = series_variables(active_, stage, tangent_sum_ + 1);
  // A gather must not reach beyond walls: there the multiplier is an array of ones that ends in zeros.
  const bool has_array = reads_neighbours(spec_.integrand);
  if (has_array) request.multiplier_arrays = {"@ones"};
  request.multiplier = [&graph, has_array, weight](std::size_t) {
    return has_array ? weight * graph.field("@ones") : weight;
  };
  request.epilogue = sums_and_lambda(weight);
  request.ghosts = StateGhosts::at_every_pass;
  return request;
}

/// The value goes to a sum, what it depends on gets its gather added to.
Epilogue Integral::sums_and_lambda(Expr weight) const {
  Epilogue epilogue;
  epilogue.values = [this, weight](KernelSpec& kernel, const std::vector<Expr>& values) {
    kernel.sums.push_back({value_sum_, weight * values[0]});
  };
  epilogue.tangents = [this, weight](KernelSpec& kernel, const std::vector<Expr>& tangents) {
    kernel.sums.push_back({tangent_sum_, weight * tangents[0]});
  };
  epilogue.add = [this](std::size_t f, Expr found) {
    const std::string lambda = StageNames::lambda(model_.fields[f]);
    return std::vector<KernelSpec::Output>{{lambda, model_.graph->field(lambda) + found}};
  };
  epilogue.gather = [add = epilogue.add](std::size_t f, Expr found) {
    return found.is_constant(0.0) ? std::vector<KernelSpec::Output>() : add(f, found);
  };
  return epilogue;
}

int Integral::sums() const {
  return 2 + EvaluationTime::sums(active_);
}

void Integral::prepare(const TermSetting& setting) {
  const Grid& grid = setting.grid;
  grid_ = &grid;
  tables_ = &setting.tables;
  series_.prepare(grid, setting.series);
  for (std::size_t q = 0; q < setting.knot_sums.size(); ++q) series_.bind_sums(q, setting.knot_sums[q]);
  rows_ = Memory(grid.local_rows(), grid.machine());
  tangent_rows_ = Memory(grid.local_rows(), grid.machine());
  kernels_.prepare(grid, setting.tables, series_.knots(), KernelSet::Libraries::one);
}

Term::Counts Integral::counts() const {
  return spec_.when == IntegralSpec::When::all_steps ? Counts::all : Counts::last;
}

bool Integral::counts_at(const Moment& moment) const {
  return spec_.when == IntegralSpec::When::all_steps || moment.is_last;
}

void Integral::begin(const Moment& moment, Direction direction) {
  Tables& tables = *tables_;
  const double in_time = spec_.when == IntegralSpec::When::all_steps ? 0.5 * (moment.before + moment.after) : 1.0;
  tables.scalar(weight_) = spec_.weight * grid_->cell_volume() * in_time;
  if (length_ >= 0) tables.scalar(length_) = moment.step_length;
  time_->set(tables, series_, moment.reads_at);
  tables.fill_noise(kernels_.noise(direction), moment.k);
  kernels_.evaluate_walls(tables);
}

double Integral::alone_at(const Moment& moment) {
  reset();
  observe(moment);
  return value();
}

void Integral::observe(const Moment& moment) {
  begin(moment, Direction::forward);
  tables_->bind_sum(value_sum_, rows_.data());
  kernels_.kernels().front().run_value(*tables_);
}

void Integral::add_adjoint(const Moment& moment) {
  begin(moment, Direction::reverse);
  time_->bind_knots(*tables_, series_, moment.reads_at);
  kernels_.run_gather(0, *tables_, time_->places());
}

double Integral::tangent(const Moment& moment) {
  begin(moment, Direction::tangent);
  kernels_.evaluate_wall_tangents(*tables_);
  tables_->bind_sum(tangent_sum_, tangent_rows_.data());
  kernels_.kernels().front().run_tangent(*tables_);
  return 0.0;
}

void Integral::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  kernels_.add_sums(scalars, knots);
}

std::int64_t Integral::kept_bytes() const {
  return 16 * grid_->local_rows();
}

double Integral::value() const {
  return grid_sum(*grid_, rows_.data());
}
double Integral::tangent_value() const {
  return grid_sum(*grid_, tangent_rows_.data());
}

void Integral::reset() {
  rows_.clear();
  tangent_rows_.clear();
  kernels_.clear_sums();
}

void Integral::save(BlockWriter& to) const {
  to.rows(rows_.data());
  to.rows(tangent_rows_.data());
  kernels_.save_sums(to);
}

void Integral::restore(BlockReader& from) {
  from.rows(rows_.data());
  from.rows(tangent_rows_.data());
  kernels_.restore_sums(from);
}

}  // namespace hindsight
