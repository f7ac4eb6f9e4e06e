#include "adjoint/objective/misfit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/error.hpp"
#include "runtime/ordered_sum.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

namespace {

std::int64_t bytes_of(const std::vector<PointObservation>& observations) {
  return static_cast<std::int64_t>(observations.size() * sizeof(PointObservation));
}

}  // namespace

std::vector<double> MisfitSpec::landings() const {
  std::vector<double> times;
  for (const PointObservation& o : *observations) times.push_back(o.time);
  return times;
}

std::unique_ptr<Term> MisfitSpec::make(const TermPlace& place) const {
  return std::make_unique<Misfit>(*this, place);
}

Misfit::Misfit(const MisfitSpec& spec, const TermPlace& place)
    : model_(place.model), active_(place.active), spec_(spec), counted_(std::in_place, bytes_of(all())) {
  const Model& model = model_;
  const Active& active = active_;
  Graph& graph = *model.graph;
  value_ = at_stage(model, {spec_.of}, "0")[0];
  std::vector<std::string> fields;
  std::vector<Seed> seeds;
  for (const std::string& name : model.fields) {
    fields.push_back(StageNames::stage(name, 0));
    seeds.push_back({true, fields.back(), StageNames::dot(fields.back())});
    lambda_.push_back(graph.field(StageNames::lambda(name)).node().symbol);
    if (!model.is_second_order) continue;
    const auto symbol = [&](const std::string& array) { return int{graph.field(array).node().symbol}; };
    const std::string now = fields.back(), before = StageNames::before(now);
    lambda_before_.push_back(symbol(StageNames::before(StageNames::lambda(name))));
    before_.emplace(symbol(now), symbol(before));
    before_.emplace(symbol(StageNames::dot(now)), symbol(StageNames::dot(before)));
  }
  for (const std::string& name : active.parameter_fields) {
    fields.push_back(name);
    seeds.push_back({true, name, StageNames::dot(name)});
    bars_.push_back(graph.field(StageNames::bar(name)).node().symbol);
  }
  for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  const Adjoint own = adjoint({value_}, {graph.constant(1.0)}, fields, active.scalars);
  partials_ = own.fields;
  partials_.insert(partials_.end(), own.scalars.begin(), own.scalars.end());
  dot_ = hindsight::tangent({value_}, seeds)[0];
  if (std::ranges::all_of(partials_, [](Expr e) { return e.is_constant(); }))
    for (const Expr e : partials_) constant_partials_.push_back(e.node().value);
}

void Misfit::prepare(const TermSetting& setting) {
  const Grid& grid = setting.grid;
  grid_ = &grid;
  time_ = &setting.time;
  tables_ = &setting.tables;
  for (std::size_t p = 0; p < active_.scalars.size(); ++p) {
    const bool is_used = !partials_[first_scalar() + p].is_constant(0.0);
    scalar_rows_.emplace_back(is_used ? grid.local_rows() : 0);
  }
  locate_all();
}

void Misfit::set_observations(std::shared_ptr<const std::vector<PointObservation>> observations) {
  spec_.observations = std::move(observations);
  counted_.emplace(bytes_of(all()));
  locate_all();
}

void Misfit::set_filter(const std::optional<FilterSpec>& filter) {
  other_ = filter;
  make_filter();
}

void Misfit::make_filter() {
  const std::optional<FilterSpec>& spec = other_ ? other_ : spec_.filter;
  filter_.reset();
  if (const auto traces = traces_in(all()); spec && traces) filter_.emplace(*spec, *traces);
  for (CountedVector<double>* of_all : {&residuals_, &slopes_})
    of_all->resize(filter_ || spec_.may_be_filtered ? all().size() : 0);
  is_compared_ = false;
}

bool Misfit::filter(std::span<double> values) const {
  if (filter_) filter_->apply(values);
  return filter_.has_value();
}

void Misfit::locate_all() {
  const std::size_t count = all().size();
  std::map<std::array<double, 3>, std::uint32_t> numbers;
  std::vector<std::array<double, 3>> points;
  landing_.resize(count);
  point_.resize(count);
  share_.resize(count);
  split_.resize(count);
  is_between_ = false;
  for (std::size_t i = 0; i < count; ++i) {
    const PointObservation& o = all()[i];
    landing_[i] = time_->landing_of(o.time);
    share_[i] = time_->share_at(o.time);
    is_between_ = is_between_ || share_[i] != 1.0;
    const auto [entry, is_new] = numbers.emplace(o.at, static_cast<std::uint32_t>(points.size()));
    if (is_new) points.push_back(o.at);
    point_[i] = entry->second;
  }
  stencils_ = PointStencils(*grid_, points, spec_.weights, mirrors());
  std::int32_t splits = 0;
  for (std::size_t i = 0; i < count; ++i) split_[i] = stencils_.is_split(point_[i]) ? splits++ : -1;
  for (Seen* seen : {&simulated_, &changed_}) {
    seen->values.assign(count, 0.0);
    seen->rows.assign(static_cast<std::size_t>(splits) * static_cast<std::size_t>(stencils_.slots()), 0.0);
  }
  make_filter();
  std::size_t most = 0;  // cells of the observations of one time
  for (std::size_t i = 0, cells = 0; i < count; ++i) {
    cells = (i > 0 && landing_[i] == landing_[i - 1] ? cells : 0) + stencils_.cells(point_[i]).size();
    most = std::max(most, cells);
  }
  grid_->operations().reserve(static_cast<std::int64_t>(most));
  places_.reserve(most);
  amounts_.resize(lambda_.size());
  amounts_before_.resize(lambda_before_.size());
  amounts_of_bars_.resize(bars_.size());
  for (auto* amounts : {&amounts_, &amounts_before_, &amounts_of_bars_})
    for (std::vector<double>& of_field : *amounts) of_field.reserve(most);
}

/// Of a field that is observed as it is.
MirrorSigns Misfit::mirrors() const {
  MirrorSigns signs = even_mirrors;
  const auto field = std::ranges::find_if(
      model_.fields, [&](const std::string& name) { return spec_.of.same_as(model_.graph->field(name)); });
  if (field == model_.fields.end() || model_.walls.empty()) return signs;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t side = 0; side < 2; ++side)
      if (model_.walls[static_cast<std::size_t>(field - model_.fields.begin())][a][side].rule == WallRule::value)
        signs[a][side] = -1.0;
  return signs;
}

bool Misfit::counts_at(const Moment& moment) const {
  return moment.landing >= 0 && std::binary_search(landing_.begin(), landing_.end(), moment.landing);
}

bool Misfit::reads_level_before() const {
  return model_.is_second_order && is_between_;
}

bool Misfit::differentiates_level_before() const {
  const Graph& graph = *model_.graph;
  return reads_level_before() && std::ranges::any_of(reachable(partials_), [&](NodeId id) {
           return graph[id].op == Op::field && before_.contains(graph[id].symbol);
         });
}

Misfit::Range Misfit::range(const Moment& moment) const {
  const auto [first, last] = std::equal_range(landing_.begin(), landing_.end(), moment.landing);
  return {static_cast<std::size_t>(first - landing_.begin()), static_cast<std::size_t>(last - landing_.begin())};
}

/// Values of expressions at the cells around the points of some observations.
class Misfit::Samples {
 public:
  Samples(const Misfit& misfit, const std::vector<Expr>& roots, Range range)
      : misfit_(misfit), tables_(*misfit.tables_), roots_(roots) {
    const Grid& grid = *misfit.grid_;
    if (roots.size() == 1 && roots[0].node().op == Op::field) alone_ = roots[0].node().symbol;
    if (grid.machine().is_host()) return;
    std::vector<std::int64_t> places;
    for (std::size_t i = range.first; i < range.last; ++i) {
      first_of_.push_back(places.size());
      for (const PointStencils::Cell& cell : misfit.stencils_.cells(misfit.point_[i])) places.push_back(cell.cell);
    }
    first_ = range.first;
    for (const NodeId id : reachable(roots)) {
      const Node& node = roots.front().graph()[id];
      if (node.op != Op::field) continue;
      bring(node.symbol, places);
      if (const auto before = misfit.before_.find(node.symbol); before != misfit.before_.end())
        bring(before->second, places);
    }
  }

  /// Of the roots, at the c-th cell around observation i, at its time.
  std::vector<double> at(std::size_t i, std::size_t c) const {
    Bindings bindings;
    bindings.scalar = [&](int symbol) { return tables_.scalar(symbol); };
    bindings.field = [&](int symbol, Offset) { return field(symbol, i, c); };
    bindings.coordinate = [&](int axis, int) { return coordinate(static_cast<std::size_t>(axis), i, c); };
    return interpret(roots_, bindings);
  }
  /// Of the only root.
  double value(std::size_t i, std::size_t c) const { return alone_ >= 0 ? field(alone_, i, c) : at(i, c)[0]; }

 private:
  void bring(int symbol, const std::vector<std::int64_t>& places) {
    std::vector<double>& values = brought_[symbol];
    if (!values.empty() || places.empty()) return;
    values.resize(places.size());
    misfit_.grid_->operations().gather(places, tables_.cells(symbol), values.data());
  }
  double field(int symbol, std::size_t i, std::size_t c) const {
    const double share = misfit_.share_[i], now = there(symbol, i, c);
    if (share == 1.0) return now;
    const auto before = misfit_.before_.find(symbol);  // of a parameter there is none
    return before == misfit_.before_.end() ? now : share * now + (1.0 - share) * there(before->second, i, c);
  }
  /// Of the cell's centre.
  double coordinate(std::size_t axis, std::size_t i, std::size_t c) const {
    const Grid& grid = *misfit_.grid_;
    const Layout& layout = grid.layout();
    const std::int64_t cell = misfit_.stencils_.cells(misfit_.point_[i])[c].cell;
    const std::int64_t plane = cell % layout.stride_z;
    const std::array<std::int64_t, 3> at{plane % layout.stride_y, plane / layout.stride_y, cell / layout.stride_z};
    const Axis& own = grid.axes()[axis];
    return own.from + (static_cast<double>(grid.first()[axis] + at[axis]) + 0.5) * own.spacing();
  }
  double there(int symbol, std::size_t i, std::size_t c) const {
    if (brought_.empty()) return value_at(tables_.cells(symbol), misfit_.stencils_.cells(misfit_.point_[i])[c].cell);
    return brought_.at(symbol)[first_of_[i - first_] + c];
  }

  const Misfit& misfit_;
  Tables& tables_;
  const std::vector<Expr>& roots_;
  int alone_ = -1;  // symbol: the only root is this field
  std::size_t first_ = 0;
  std::vector<std::size_t> first_of_;
  std::map<int, std::vector<double>> brought_;  // from a device, by symbol
};

void Misfit::see(Seen& seen, const Moment& moment, Expr what) {
  const Range range = this->range(moment);
  const std::vector<Expr> roots{what};
  const Samples samples(*this, roots, range);
  const auto slots = static_cast<std::size_t>(stencils_.slots());
  for (std::size_t i = range.first; i < range.last; ++i) {
    const std::span<const PointStencils::Cell> cells = stencils_.cells(point_[i]);
    double sum = 0.0, of_row = 0.0;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      of_row += cells[c].weight * samples.value(i, c);
      if (c + 1 < cells.size() && cells[c + 1].slot == cells[c].slot) continue;
      if (split_[i] >= 0)
        seen.rows[static_cast<std::size_t>(split_[i]) * slots + static_cast<std::size_t>(cells[c].slot)] = of_row;
      sum += std::exchange(of_row, 0.0);
    }
    seen.values[i] = split_[i] >= 0 ? 0.0 : sum;
  }
}

void Misfit::complete(Seen& seen) const {
  if (!seen.is_complete) add_up(seen.values, seen.rows);
  seen.is_complete = true;
}

/// Of all ranks; rows one after another, as on one rank.
void Misfit::add_up(std::span<double> values, std::span<double> rows) const {
  if (grid_->dimensions() == 0) return;
  grid_->communicator().sum(values);
  grid_->communicator().sum(rows);
  const auto slots = static_cast<std::size_t>(stencils_.slots());
  for (std::size_t i = 0; i < split_.size(); ++i)
    for (std::size_t slot = 0; slot < slots && split_[i] >= 0; ++slot)
      values[i] += rows[static_cast<std::size_t>(split_[i]) * slots + slot];
}

void Misfit::require_positive() const {
  for (std::size_t i = 0; i < all().size() && spec_.logarithmic; ++i)
    if (!(simulated_.values[i] > 0.0))
      throw NumericsError("a misfit takes the logarithm of a simulated value that is not positive (" +
                          std::to_string(simulated_.values[i]) + " at t = " + std::to_string(all()[i].time) + ")");
}

void Misfit::observe(const Moment& moment) {
  see(simulated_, moment, value_);
}

double Misfit::residual(std::size_t i) const {
  if (filter_) return residuals_[i];
  const double observed = all()[i].value, simulated = simulated_.values[i];
  return spec_.logarithmic ? std::log(simulated) - std::log(observed) : simulated - observed;
}

/// dJ/d(difference)
double Misfit::weighted(std::size_t i, double residual) const {
  return spec_.weight * all()[i].weight * residual / (noise(i) * noise(i));
}

/// dJ/d(simulated value)
double Misfit::slope(std::size_t i) const {
  if (filter_) return slopes_[i];
  const double r = weighted(i, residual(i));
  return spec_.logarithmic ? r / simulated_.values[i] : r;
}

/// What filters make of all values at once.
void Misfit::compare() const {
  complete(simulated_);
  require_positive();
  if (!filter_ || is_compared_) return;
  const std::size_t count = residuals_.size();
  for (std::size_t i = 0; i < count; ++i) residuals_[i] = simulated_.values[i] - all()[i].value;
  filter_->apply(residuals_);
  for (std::size_t i = 0; i < count; ++i) slopes_[i] = weighted(i, residuals_[i]);
  filter_->apply_transpose(slopes_);
  is_compared_ = true;
}

void Misfit::add_adjoint(const Moment& moment) {
  compare();
  const Range range = this->range(moment);
  const Samples samples(*this, partials_, range);
  places_.clear();
  for (auto* amounts : {&amounts_, &amounts_before_, &amounts_of_bars_})
    for (std::vector<double>& of_field : *amounts) of_field.clear();
  bool is_between = false;
  std::vector<double> partial = constant_partials_;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const std::span<const PointStencils::Cell> cells = stencils_.cells(point_[i]);
    const double share = share_[i], slope = this->slope(i);
    is_between = is_between || share != 1.0;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (constant_partials_.empty()) partial = samples.at(i, c);
      const double factor = slope * cells[c].weight;
      places_.push_back(cells[c].cell);
      for (std::size_t f = 0; f < amounts_.size(); ++f) amounts_[f].push_back(share * factor * partial[f]);
      for (std::size_t f = 0; f < amounts_before_.size(); ++f)
        amounts_before_[f].push_back((share - 1.0) * factor * partial[f]);  // negated (Stepper::reverse())
      for (std::size_t q = 0; q < bars_.size(); ++q)
        amounts_of_bars_[q].push_back(factor * partial[lambda_.size() + q]);
      for (std::size_t p = 0; p < scalar_rows_.size(); ++p)
        if (scalar_rows_[p].size() > 0) scalar_rows_[p].data()[cells[c].row] += factor * partial[first_scalar() + p];
    }
  }
  const CellOperations& operations = grid_->operations();
  for (std::size_t f = 0; f < amounts_.size(); ++f)
    operations.add(places_, amounts_[f].data(), tables_->cells(lambda_[f]));
  for (std::size_t q = 0; q < bars_.size(); ++q)
    if (!partials_[lambda_.size() + q].is_constant(0.0))
      operations.add(places_, amounts_of_bars_[q].data(), tables_->cells(bars_[q]));
  for (std::size_t f = 0; f < amounts_before_.size() && is_between; ++f)
    operations.add(places_, amounts_before_[f].data(), tables_->cells(lambda_before_[f]));
}

double Misfit::tangent(const Moment& moment) {
  see(changed_, moment, dot_);
  return 0.0;
}

double Misfit::tangent_value() const {
  compare();
  complete(changed_);
  std::vector<double> parts(all().size());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = slope(i) * changed_.values[i];
  return pairwise_sum(parts.data(), std::ssize(parts));
}

void Misfit::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>&) const {
  for (std::size_t p = 0; p < scalars.size(); ++p)
    if (!partials_[first_scalar() + p].is_constant(0.0)) scalars[p] += grid_sum(*grid_, scalar_rows_[p].data());
}

double Misfit::sum_of_squares() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < all().size(); ++i)
    if (all()[i].weight > 0.0) sum += residual(i) * residual(i);
  return sum;
}

double Misfit::value() const {
  compare();
  double sum = 0.0;
  for (std::size_t i = 0; i < all().size(); ++i) {
    const double relative = residual(i) / noise(i);
    sum += all()[i].weight * (relative * relative);
  }
  return 0.5 * spec_.weight * sum;
}

std::int64_t Misfit::kept_bytes() const {
  std::int64_t rows = 0;
  for (const Memory& of_scalar : scalar_rows_) rows += of_scalar.size();
  const std::size_t seen = simulated_.values.size() + simulated_.rows.size();
  return (rows + static_cast<std::int64_t>(seen)) * static_cast<std::int64_t>(sizeof(double));
}

void Misfit::reset() {
  for (Seen* seen : {&simulated_, &changed_}) {
    std::fill(seen->values.begin(), seen->values.end(), 0.0);
    std::fill(seen->rows.begin(), seen->rows.end(), 0.0);
    seen->is_complete = false;
  }
  is_compared_ = false;
  for (Memory& rows : scalar_rows_) rows.clear();
}

std::optional<Term::Residuals> Misfit::residuals() const {
  if (simulated_.is_complete) compare();
  const auto count = std::ranges::count_if(all(), [](const PointObservation& o) { return o.weight > 0.0; });
  return Residuals{spec_.name + (spec_.logarithmic ? " (logarithms)" : ""), count, sum_of_squares(), spec_.noise};
}

void Misfit::save_observed(BlockWriter& to) const {
  to.archive().write(simulated_.values);
}

void Misfit::restore_observed(BlockReader& from) {
  from.read(simulated_.values);
  simulated_.is_complete = true;
  is_compared_ = false;
}

/// Totals, whoever has seen what: those who go on may be other ranks.
void Misfit::save(BlockWriter& to, const Seen& seen) const {
  std::vector<double> totals(seen.values.begin(), seen.values.end()), rows(seen.rows.begin(), seen.rows.end());
  if (!seen.is_complete) add_up(totals, rows);
  to.archive().write(seen.is_complete);
  to.archive().write(totals);
}

/// Of what is not complete yet, the first rank has seen the totals.
void Misfit::restore(BlockReader& from, Seen& seen) const {
  seen.is_complete = from.get<bool>();
  const auto totals = from.get<std::vector<double>>();
  if (totals.size() != seen.values.size()) throw ResourceError("a journal belongs to other observations");
  const bool is_mine = seen.is_complete || grid_->dimensions() == 0 || grid_->communicator().is_root();
  std::fill(seen.values.begin(), seen.values.end(), 0.0);
  if (is_mine) std::ranges::copy(totals, seen.values.begin());
  std::fill(seen.rows.begin(), seen.rows.end(), 0.0);
}

void Misfit::save(BlockWriter& to) const {
  save(to, simulated_);
  save(to, changed_);
  for (const Memory& rows : scalar_rows_)
    if (rows.size() > 0) to.rows(rows.data());
}

void Misfit::restore(BlockReader& from) {
  is_compared_ = false;
  restore(from, simulated_);
  restore(from, changed_);
  for (Memory& rows : scalar_rows_)
    if (rows.size() > 0) from.rows(rows.data());
}

}  // namespace hindsight
