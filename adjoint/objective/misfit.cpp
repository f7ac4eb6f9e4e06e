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
    : model_(place.model), active_(place.active), spec_(spec), counted_(std::in_place, bytes_of(observations())) {
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
  for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  const Adjoint own = adjoint({value_}, {graph.constant(1.0)}, fields, active.scalars);
  partials_ = own.fields;
  partials_.insert(partials_.end(), own.scalars.begin(), own.scalars.end());
  dot_ = hindsight::tangent({value_}, seeds)[0];
}

void Misfit::prepare(const TermSetting& setting) {
  const Grid& grid = setting.grid;
  grid_ = &grid;
  time_ = &setting.time;
  tables_ = &setting.tables;
  corners_each_ = std::size_t{1} << grid.dimensions();
  locate_all();
}

void Misfit::set_observations(std::shared_ptr<const std::vector<PointObservation>> observations) {
  spec_.observations = std::move(observations);
  counted_.emplace(bytes_of(this->observations()));
  locate_all();
}

void Misfit::locate_all() {
  landing_.clear();
  share_.clear();
  corners_.clear();
  landing_.reserve(observations().size());
  share_.reserve(observations().size());
  corners_.reserve(observations().size() * corners_each_);
  for (const PointObservation& observation : observations()) {
    landing_.push_back(time_->landing_of(observation.time));
    share_.push_back(time_->share_at(observation.time));
    locate(observation);
  }
  grid_->operations().reserve(most_at_once());
  simulated_.assign(observations().size(), 0.0);
  scalar_parts_.resize(active_.scalars.size());
  for (CountedVector<double>& parts : scalar_parts_) parts.assign(corners_.size(), 0.0);
}

void Misfit::locate(const PointObservation& observation) {
  std::array<std::array<std::int64_t, 2>, 3> cell{};
  std::array<std::array<double, 2>, 3> weight{};
  for (std::size_t a = 0; a < grid_->axes().size(); ++a) {
    const Axis& axis = grid_->axes()[a];
    const double position = (observation.at[a] - axis.from) / axis.spacing() - 0.5;
    auto lower = static_cast<std::int64_t>(std::floor(position));
    if (!axis.periodic) lower = std::clamp<std::int64_t>(lower, 0, std::max<std::int64_t>(0, axis.cells - 2));
    const double w = axis.cells == 1 ? 0.0 : position - static_cast<double>(lower);
    for (std::int64_t side = 0; side < 2; ++side) {
      cell[a][static_cast<std::size_t>(side)] = ((lower + side) % axis.cells + axis.cells) % axis.cells;
      weight[a][static_cast<std::size_t>(side)] = side == 0 ? 1.0 - w : w;
    }
  }
  for (std::size_t c = 0; c < corners_each_; ++c) {
    Corner corner{true, 0, 1.0};
    Index3 local{0, 0, 0};
    for (std::size_t a = 0; a < grid_->axes().size(); ++a) {
      const std::size_t side = (c >> a) & 1U;
      local[a] = cell[a][side] - grid_->first()[a];
      corner.here = corner.here && local[a] >= 0 && local[a] < grid_->cells()[a];
      corner.weight *= weight[a][side];
    }
    const Layout& layout = grid_->layout();
    corner.cell = local[0] + layout.stride_y * local[1] + layout.stride_z * local[2];
    if (grid_->dimensions() == 0) corner.here = grid_->communicator().is_root();
    corners_.push_back(corner);
  }
}

bool Misfit::counts_at(const Moment& moment) const {
  return moment.landing >= 0 && std::binary_search(landing_.begin(), landing_.end(), moment.landing);
}

std::pair<std::size_t, std::size_t> Misfit::range(std::int64_t landing) const {
  const auto [first, last] = std::equal_range(landing_.begin(), landing_.end(), landing);
  return {static_cast<std::size_t>(first - landing_.begin()), static_cast<std::size_t>(last - landing_.begin())};
}

/// The fields that expressions read, at some of the corners: where they are on the host, brought from a device.
class Misfit::Samples {
 public:
  Samples(const Misfit& misfit, const Tables& tables, const std::vector<Expr>& roots, std::size_t first,
          std::size_t last)
      : misfit_(misfit), tables_(tables), first_(first) {
    const Grid& grid = tables.grid();
    if (grid.machine().is_host()) return;
    std::vector<std::int64_t> places;
    for (std::size_t c = first; c < last; ++c)
      places.push_back(misfit.is_needed(misfit.corners_[c]) ? misfit.corners_[c].cell : 0);
    for (const NodeId id : reachable(roots)) {
      const Node& node = roots.front().graph()[id];
      if (node.op != Op::field) continue;
      bring(node.symbol, places);
      if (const auto before = misfit.before_.find(node.symbol); before != misfit.before_.end())
        bring(before->second, places);
    }
  }
  /// At the time of the observation.
  double at(int symbol, std::size_t corner) const {
    const double share = misfit_.share_at_corner(corner), now = value(symbol, corner);
    return share == 1.0 ? now : share * now + (1.0 - share) * value(misfit_.before_.at(symbol), corner);
  }

 private:
  void bring(int symbol, const std::vector<std::int64_t>& places) {
    std::vector<double>& values = brought_[symbol];
    if (!values.empty()) return;
    values.resize(places.size());
    tables_.grid().operations().gather(places, tables_.field(symbol), values.data());
  }
  double value(int symbol, std::size_t corner) const {
    if (brought_.empty()) return tables_.field(symbol)[misfit_.corners_[corner].cell];
    return brought_.at(symbol)[corner - first_];
  }
  const Misfit& misfit_;
  const Tables& tables_;
  std::size_t first_;
  std::map<int, std::vector<double>> brought_;  // by symbol
};

/// An ODE is replicated: all ranks have its one cell.
bool Misfit::is_needed(const Corner& corner) const {
  return corner.here || grid_->dimensions() == 0;
}

std::vector<double> Misfit::evaluate(const Samples& samples, const std::vector<Expr>& roots, std::size_t corner) const {
  Bindings bindings;
  bindings.scalar = [&](int symbol) { return tables_->scalar(symbol); };
  bindings.field = [&](int symbol, Offset) { return samples.at(symbol, corner); };
  bindings.coordinate = [](int, int) -> double {
    throw Error(ExitCode::bug, "a misfit's expression uses a coordinate");
  };
  return interpret(roots, bindings);
}

void Misfit::observe(const Moment& moment) {
  const auto [first, last] = range(moment.landing);
  CountedVector<double> at_corners((last - first) * corners_each_, 0.0);
  const Samples samples(*this, *tables_, {value_}, first * corners_each_, last * corners_each_);
  for (std::size_t c = 0; c < at_corners.size(); ++c) {
    const std::size_t place = first * corners_each_ + c;
    const Corner& corner = corners_[place];
    if (corner.here && corner.weight != 0.0) at_corners[c] = corner.weight * evaluate(samples, {value_}, place)[0];
  }
  grid_->communicator().sum(at_corners);
  for (std::size_t i = first; i < last; ++i) {
    double sum = 0.0;
    for (std::size_t c = 0; c < corners_each_; ++c) sum += at_corners[(i - first) * corners_each_ + c];
    simulated_[i] = sum;
    if (spec_.logarithmic && !(sum > 0.0))
      throw NumericsError("a misfit takes the logarithm of a simulated value that is not positive (" +
                          std::to_string(sum) + " at t = " + std::to_string(observations()[i].time) + ")");
  }
}

double Misfit::residual(std::size_t i) const {
  const double observed = observations()[i].value;
  return spec_.logarithmic ? std::log(simulated_[i]) - std::log(observed) : simulated_[i] - observed;
}

/// dJ/d(simulated value)
double Misfit::slope(std::size_t i) const {
  const double r = spec_.weight * residual(i) / (spec_.noise * spec_.noise);
  return spec_.logarithmic ? r / simulated_[i] : r;
}

void Misfit::add_adjoint(const Moment& moment) {
  const auto [first, last] = range(moment.landing);
  const Samples samples(*this, *tables_, partials_, first * corners_each_, last * corners_each_);
  std::vector<std::int64_t> places;
  std::vector<std::vector<double>> amounts(lambda_.size()), amounts_before(lambda_before_.size());
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t c = i * corners_each_; c < (i + 1) * corners_each_; ++c) {
      const Corner& corner = corners_[c];
      if (!is_needed(corner) || corner.weight == 0.0) continue;
      const std::vector<double> partial = evaluate(samples, partials_, c);
      const double factor = slope(i) * corner.weight, share = share_[i];
      places.push_back(corner.cell);
      for (std::size_t f = 0; f < amounts.size(); ++f) amounts[f].push_back(share * factor * partial[f]);
      for (std::size_t f = 0; f < amounts_before.size(); ++f)
        amounts_before[f].push_back((1.0 - share) * factor * partial[f]);
      for (std::size_t p = 0; p < scalar_parts_.size() && corner.here; ++p)
        scalar_parts_[p][c] = factor * partial[lambda_.size() + p];
    }
  for (std::size_t f = 0; f < lambda_.size(); ++f)
    grid_->operations().add(places, amounts[f].data(), tables_->field(lambda_[f]));
  const bool is_between =
      std::any_of(share_.begin() + static_cast<std::ptrdiff_t>(first),
                  share_.begin() + static_cast<std::ptrdiff_t>(last), [](double s) { return s != 1.0; });
  for (std::size_t f = 0; f < lambda_before_.size() && is_between; ++f)
    grid_->operations().add(places, amounts_before[f].data(), tables_->field(lambda_before_[f]));
}

double Misfit::tangent(const Moment& moment) {
  const auto [first, last] = range(moment.landing);
  CountedVector<double> parts((last - first) * corners_each_, 0.0);
  const Samples samples(*this, *tables_, {dot_}, first * corners_each_, last * corners_each_);
  for (std::size_t c = 0; c < parts.size(); ++c) {
    const std::size_t place = first * corners_each_ + c;
    const Corner& corner = corners_[place];
    if (corner.here && corner.weight != 0.0)
      parts[c] = slope(first + c / corners_each_) * corner.weight * evaluate(samples, {dot_}, place)[0];
  }
  grid_->communicator().sum(parts);
  return pairwise_sum(parts.data(), static_cast<std::int64_t>(parts.size()));
}

void Misfit::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>&) const {
  for (std::size_t p = 0; p < scalars.size(); ++p) {
    CountedVector<double> parts = scalar_parts_[p];
    grid_->communicator().sum(parts);
    scalars[p] += pairwise_sum(parts.data(), static_cast<std::int64_t>(parts.size()));
  }
}

double Misfit::sum_of_squares() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < simulated_.size(); ++i) sum += residual(i) * residual(i);
  return sum;
}

double Misfit::value() const {
  return 0.5 * spec_.weight * sum_of_squares() / (spec_.noise * spec_.noise);
}

/// Corners of the observations at one time, at most.
std::int64_t Misfit::most_at_once() const {
  std::size_t most = 0;
  for (const std::int64_t landing : landing_) {
    const auto [first, last] = range(landing);
    most = std::max(most, (last - first) * corners_each_);
  }
  return static_cast<std::int64_t>(most);
}

std::int64_t Misfit::passing_bytes() const {
  const std::int64_t all = active_.scalars.empty() ? 0 : static_cast<std::int64_t>(corners_.size());
  return std::max(all, most_at_once()) * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t Misfit::kept_bytes() const {
  const std::size_t parts = scalar_parts_.size() * corners_.size();
  return static_cast<std::int64_t>((simulated_.size() + parts) * sizeof(double));
}

void Misfit::reset() {
  std::fill(simulated_.begin(), simulated_.end(), 0.0);
  for (auto& parts : scalar_parts_) std::fill(parts.begin(), parts.end(), 0.0);
}

std::optional<Term::Residuals> Misfit::residuals() const {
  return Residuals{spec_.name + (spec_.logarithmic ? " (logarithms)" : ""),
                   static_cast<std::int64_t>(observations().size()), sum_of_squares(), spec_.noise};
}

void Misfit::save_observed(BlockWriter& to) const {
  to.archive().write(simulated_);
}

void Misfit::restore_observed(BlockReader& from) {
  from.read(simulated_);
}

void Misfit::save(BlockWriter& to) const {
  to.archive().write(simulated_);
  for (const auto& parts : scalar_parts_) to.archive().write(parts);
}

void Misfit::restore(BlockReader& from) {
  from.read(simulated_);
  for (auto& parts : scalar_parts_) {  // a corner's part lies on the one rank that owned it; that of others is zero
    std::fill(parts.begin(), parts.end(), 0.0);
    for (const std::vector<double>& theirs : from.all<std::vector<double>>()) {
      if (theirs.size() != parts.size()) throw ResourceError("a journal belongs to other observations");
      for (std::size_t c = 0; c < parts.size(); ++c)
        if (corners_[c].here && theirs[c] != 0.0) parts[c] = theirs[c];
    }
  }
}

}  // namespace hindsight
