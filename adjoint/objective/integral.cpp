#include "adjoint/objective/integral.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/ordered_sum.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 0;  // the name under which states are bound for objective terms

std::vector<int> symbols(Graph& graph, const std::vector<std::string>& names) {
  std::vector<int> all;
  for (const std::string& name : names) all.push_back(graph.field(name).node().symbol);
  return all;
}

}  // namespace

std::vector<Expr> IntegralSpec::reads() const {
  return weight != 0 ? std::vector<Expr>{integrand} : std::vector<Expr>();
}

std::unique_ptr<Term> IntegralSpec::make(const TermPlace& place) const {
  return std::make_unique<Integral>(*this, place);
}

Integral::Integral(IntegralSpec spec, const TermPlace& place)
    : model_(place.model), active_(place.active), spec_(std::move(spec)), first_sum_(place.first_sum) {
  const Model& model = model_;
  const Active& active = active_;
  Graph& graph = *model.graph;
  const std::string name = "term" + std::to_string(place.number);
  const Expr weight = graph.scalar("@weight");
  weight_ = weight.node().symbol;
  h_ = graph.scalar(step_factor).node().symbol;
  length_ = graph.scalar_index(step_length);
  t_ = graph.scalar(StageNames::stage("t", stage)).node().symbol;
  const Expr g = at_stage(model, {spec_.integrand}, std::to_string(stage))[0];
  for (const Reach& r : reach({g})) reads_neighbours_ = reads_neighbours_ || r.depth != std::array<int, 3>{0, 0, 0};

  std::vector<std::string> fields, scalars = active.scalars;
  std::vector<Seed> seeds;
  for (const std::string& f : model.fields) {
    fields.push_back(StageNames::stage(f, stage));
    seeds.push_back({true, fields.back(), StageNames::dot(fields.back())});
  }
  for (const std::string& f : active.parameter_fields) {
    fields.push_back(f);
    seeds.push_back({true, f, StageNames::dot(f)});
  }
  for (const std::string& p : active.scalars) seeds.push_back({false, p, StageNames::dot(p)});
  for (const std::string& q : active.series) {
    scalars.push_back(StageNames::stage(q, stage));
    seeds.push_back({false, scalars.back(), StageNames::dot(scalars.back())});
  }
  // A gather must not reach beyond walls: there the multiplier is an array of ones that ends in zeros.
  const Expr multiplier = reads_neighbours_ ? weight * graph.field("@ones") : weight;
  const Adjoint own = adjoint({g}, {multiplier}, fields, scalars);
  const Expr live = reads_neighbours_ ? any_not_zero({graph.field("@ones")}) : Expr();
  const Adjoint near_walls = adjoint({g}, {multiplier}, fields, scalars, {live, false});
  const Adjoint beyond_walls = adjoint({g}, {multiplier}, fields, scalars, {live, true});

  value_kernel_ = fused({name + "_value", {}, {{first_sum_, weight * g}}});
  tangent_kernel_ = fused({name + "_tangent", {}, {{first_sum_ + 1, weight * hindsight::tangent({g}, seeds)[0]}}});
  adjoint_kernel_.name = name + "_adjoint";
  border_kernel_.name = name + "_border";
  ring_kernel_.name = name + "_ring";
  add_kernel_.name = name + "_add";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (own.fields[i].is_constant(0.0)) continue;
    const bool is_state = i < model.fields.size();
    const std::string& plain = is_state ? model.fields[i] : fields[i];
    const std::string target = is_state ? StageNames::lambda(plain) : StageNames::bar(plain);
    adjoint_kernel_.outputs.push_back({target, graph.field(target) + own.fields[i]});
    border_kernel_.outputs.push_back({target, graph.field(target) + near_walls.fields[i]});
    has_border_ = has_border_ || !near_walls.fields[i].same_as(own.fields[i]);
    ring_kernel_.outputs.push_back({StageNames::ghost(plain), beyond_walls.fields[i]});
    add_kernel_.outputs.push_back({target, graph.field(target) + graph.field(StageNames::ghost(plain))});
  }
  const auto sum = [&](int index, Expr summand) { adjoint_kernel_.sums.push_back({index, summand}); };
  for (std::size_t p = 0; p < active.scalars.size(); ++p)
    if (!own.scalars[p].is_constant(0.0)) sum(static_cast<int>(p), own.scalars[p]);
  for (std::size_t q = 0; q < active.series.size(); ++q)
    for (int knot = 0; knot < 2; ++knot) {
      const Expr summand = own.scalars[active.scalars.size() + q];
      const Expr share = graph.scalar(StageNames::weight(active.series[q], stage, knot));
      if (!summand.is_constant(0.0)) sum(first_sum_ + 2 + 2 * static_cast<int>(q) + knot, share * summand);
    }
  border_kernel_.sums = adjoint_kernel_.sums;
  border_kernel_ = fused(border_kernel_);
  adjoint_kernel_ = fused(adjoint_kernel_);
  ring_kernel_ = fused(ring_kernel_);
  if (model.walls.empty() || !reads_neighbours_) return;
  walls_ = std::make_unique<WallValues>(model, wall_expressions(model, stage, nullptr), name + "_", wall_kernels_);
  std::vector<Seed> wall_seeds(seeds.begin() + static_cast<std::ptrdiff_t>(fields.size()), seeds.end());
  dot_walls_ =
      std::make_unique<WallValues>(model, wall_expressions(model, stage, &wall_seeds), name + "_d", wall_kernels_);
  wall_adjoint_ = std::make_unique<WallAdjoint>(model, active, std::vector<int>{stage}, name + "_", wall_kernels_);
}

int Integral::sums() const {
  return 2 + 2 * static_cast<int>(active_.series.size());
}

std::array<int, 3> Integral::halo() const {
  return add(deepest({&value_kernel_, &adjoint_kernel_, &tangent_kernel_}, {}).depth,
             ring_depth(model_, {spec_.integrand}));
}

void Integral::prepare(const TermSetting& setting) {
  const Grid& grid = setting.grid;
  Tables& tables = setting.tables;
  const std::vector<Series>& series = setting.series;
  grid_ = &grid;
  tables_ = &tables;
  series_ = series;
  series_sums_ = setting.knot_sums;
  places_.resize(active_.series.size());
  noise_ = noises_read(*model_.graph, {&value_kernel_, &adjoint_kernel_, &tangent_kernel_});
  rows_ = Memory(grid.local_rows(), grid.machine());
  tangent_rows_ = Memory(grid.local_rows(), grid.machine());
  dummy_knot_ = Memory(grid.local_rows(), grid.machine());
  const bool has_adjoint = !adjoint_kernel_.roots().empty();
  const bool has_ring = walls_ && !ring_kernel_.outputs.empty();
  std::vector<KernelSpec> kernels{value_kernel_, tangent_kernel_};
  if (has_adjoint) kernels.push_back(adjoint_kernel_);
  if (has_ring) {
    kernels.push_back(ring_kernel_);
    kernels.push_back(add_kernel_);
    if (has_border_) kernels.push_back(border_kernel_);
  }
  const Communicator& comm = grid.communicator();
  library_ = KernelLibrary(kernels, boxes_of(grid.dimensions()), comm, grid.machine());
  wall_library_ = KernelLibrary(wall_kernels_, Boxes::line, comm, grid.machine());
  if (walls_) {
    walls_->prepare(wall_library_, tables);
    dot_walls_->prepare(wall_library_, tables);
  }
  Graph& graph = *model_.graph;
  std::vector<std::string> states, dots, ghosts;
  for (const std::string& f : model_.fields) {
    states.push_back(StageNames::stage(f, stage));
    dots.push_back(StageNames::dot(states.back()));
  }
  zero_walls_ = plain_walls(model_.fields.size(), WallRule::zero);
  mirror_walls_ = plain_walls(1, WallRule::slope);
  const std::vector<FieldWalls>* walls = walls_ ? &walls_->walls() : &zero_walls_;
  const std::vector<FieldWalls>* dot_walls = dot_walls_ ? &dot_walls_->walls() : &zero_walls_;
  const std::array<int, 3> ring = ring_depth(model_, {spec_.integrand});
  const std::vector<int> state_symbols = symbols(graph, states), dot_symbols = symbols(graph, dots);
  value_pass_ = std::make_unique<Pass>(grid, library_[0],
                                       std::vector<GhostGroup>{ghosts_for(value_kernel_, state_symbols, walls)});
  tangent_pass_ = std::make_unique<Pass>(grid, library_[1],
                                         std::vector<GhostGroup>{ghosts_for(tangent_kernel_, state_symbols, walls),
                                                                 ghosts_for(tangent_kernel_, dot_symbols, dot_walls)});
  if (has_adjoint) {
    std::vector<GhostGroup> groups{ghosts_for(adjoint_kernel_, state_symbols, walls, ring)};
    if (reads_neighbours_) groups.push_back(ghosts_for(adjoint_kernel_, symbols(graph, {"@ones"}), &zero_walls_, ring));
    const BorderKernel border{has_ring && has_border_ ? library_[5] : Kernel(), ring};
    adjoint_pass_ = std::make_unique<Pass>(grid, library_[2], groups, border);
  }
  if (!has_ring) return;
  std::vector<std::size_t> knots;
  for (const std::string& q : active_.series)
    for (const Series& s : series)
      if (s.name == q) knots.push_back(s.values.size());
  std::vector<WallGather::Target> targets;
  for (const KernelSpec::Output& output : ring_kernel_.outputs) {
    WallGather::Target target{graph.field_index(output.field), mirror_walls_.data(), {}};
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      if (output.field != StageNames::ghost(model_.fields[f])) continue;
      target.walls = &walls_->walls()[f];
      target.wall_bar = wall_adjoint_->prepare(f, wall_library_, knots, tables);
    }
    targets.push_back(target);
  }
  wall_gather_ = std::make_unique<WallGather>(grid, library_[3], library_[4], ring, targets);
}

Term::Counts Integral::counts() const {
  return spec_.when == IntegralSpec::When::all_steps ? Counts::all : Counts::last;
}

bool Integral::counts_at(const Moment& moment) const {
  return spec_.when == IntegralSpec::When::all_steps || moment.is_last;
}

void Integral::set_scalars(const Moment& moment) {
  Tables& tables = *tables_;
  const double in_time = spec_.when == IntegralSpec::When::all_steps ? 0.5 * (moment.before + moment.after) : 1.0;
  tables.scalar(weight_) = spec_.weight * grid_->cell_volume() * in_time;
  tables.scalar(h_) = 1.0;  // wall derivatives are multiplied by h, which here is part of the weight
  tables.scalar(t_) = moment.t;
  if (length_ >= 0) tables.scalar(length_) = moment.step_length();
  tables.fill_noise(noise_, moment.k);
  for (const Series& s : series_) {
    const int symbol = model_.graph->scalar_index(StageNames::stage(s.name, stage));
    if (symbol >= 0) tables.scalar(symbol) = s.at(moment.t);
  }
}

double Integral::alone_at(const Moment& moment) {
  reset();
  observe(moment);
  return value();
}

void Integral::observe(const Moment& moment) {
  set_scalars(moment);
  if (walls_) walls_->evaluate(*tables_);
  tables_->bind_sum(first_sum_, rows_.data());
  value_pass_->run(*tables_);
}

void Integral::bind_knots(const Moment& moment) {
  for (std::size_t q = 0; q < active_.series.size(); ++q) {
    const auto series =
        std::find_if(series_.begin(), series_.end(), [&](const Series& s) { return s.name == active_.series[q]; });
    places_[q] = series->place(moment.t);
    const bool has_upper = places_[q].knot + 1 < series->values.size();
    double* const knot = series_sums_[q] + static_cast<std::int64_t>(places_[q].knot) * grid_->local_rows();
    const double weights[2] = {1.0 - places_[q].weight, has_upper ? places_[q].weight : 0.0};
    double* const rows[2] = {knot, has_upper ? knot + grid_->local_rows() : dummy_knot_.data()};
    for (int i = 0; i < 2; ++i) {
      const int symbol = model_.graph->scalar_index(StageNames::weight(active_.series[q], stage, i));
      tables_->scalar(symbol) = weights[i];
      tables_->bind_sum(first_sum_ + 2 + 2 * static_cast<int>(q) + i, rows[i]);
    }
  }
}

void Integral::add_adjoint(const Moment& moment) {
  if (!adjoint_pass_) return;
  set_scalars(moment);
  bind_knots(moment);
  if (walls_) walls_->evaluate(*tables_);
  adjoint_pass_->run(*tables_);
  if (!wall_gather_) return;
  wall_gather_->run(*tables_);
  wall_adjoint_->accumulate(*tables_, stage, places_);
}

double Integral::tangent(const Moment& moment) {
  set_scalars(moment);
  if (walls_) {
    walls_->evaluate(*tables_);
    dot_walls_->evaluate(*tables_);
  }
  tables_->bind_sum(first_sum_ + 1, tangent_rows_.data());
  tangent_pass_->run(*tables_);
  return 0.0;
}

void Integral::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  if (wall_adjoint_ && wall_gather_) wall_adjoint_->add_sums(*grid_, scalars, knots);
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
  if (wall_adjoint_) wall_adjoint_->clear();
}

void Integral::save(BlockWriter& to) const {
  to.rows(rows_.data());
  to.rows(tangent_rows_.data());
  if (wall_adjoint_) wall_adjoint_->save(to, *grid_);
}

void Integral::restore(BlockReader& from) {
  from.rows(rows_.data());
  from.rows(tangent_rows_.data());
  if (wall_adjoint_) wall_adjoint_->restore(from, *grid_);
}

}  // namespace hindsight
