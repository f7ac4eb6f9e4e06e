#include "solvers/steppers/kernels/point_sources.hpp"

#include <algorithm>
#include <map>

#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// Of what is sorted by the last axis, what lies where the box does along it.
template <class Entry, class BoxOf>
std::span<const Entry> in_range(const std::vector<Entry>& all, const Box& cells, const Grid& grid, BoxOf box_of) {
  const auto last = static_cast<std::size_t>(std::max(grid.dimensions(), 1) - 1);
  const auto place = [&](const Entry& entry) { return box_of(entry).lo[last]; };
  return {std::ranges::lower_bound(all, cells.lo[last], {}, place),
          std::ranges::lower_bound(all, cells.hi[last], {}, place)};
}

}  // namespace

PointSources::PointSources(const Model& model, const Active& active) : model_(model), active_(active) {
  for (const PointSource& source : model.sources) {
    const std::string name = array(model.fields[source.field]);
    array_of_.push_back(static_cast<std::size_t>(std::ranges::find(arrays_, name) - arrays_.begin()));
    if (array_of_.back() == arrays_.size()) arrays_.push_back(name);
    const auto found = std::ranges::find(active.series, model.series[source.series]);
    active_of_.push_back(found == active.series.end() ? -1 : found - active.series.begin());
  }
  const auto symbol = [&](const std::string& name) {
    const int made = model.graph->field(name).node().symbol;
    model.graph->set_kind(made, {});
    return made;
  };
  for (const std::string& name : arrays_) {
    symbols_.push_back(symbol(name));
    direction_symbols_.push_back(symbol(StageNames::dot(name)));
    bar_symbols_.push_back(symbol(StageNames::bar(name)));
  }
}

std::vector<Expr> PointSources::added_to(const std::vector<Expr>& right_hand_sides) const {
  std::vector<Expr> all = right_hand_sides;
  for (std::size_t f = 0; f < all.size(); ++f) {
    const std::string name = array(model_.fields[f]);
    if (std::ranges::find(arrays_, name) != arrays_.end()) all[f] = all[f] + model_.graph->field(name);
  }
  return all;
}

void PointSources::prepare(const Grid& grid, Tables& tables, const SeriesData& series, bool with_adjoint) {
  grid_ = &grid;
  tables_ = &tables;
  if (!are_any()) return;
  grid.communicator().together([&] {
    for (const std::vector<int>* symbols : {&symbols_, &direction_symbols_, &bar_symbols_}) tables.allocate(*symbols);
    const std::vector<std::size_t> knots = series.knots();
    for (std::size_t q = 0; q < active_.series.size(); ++q) {
      const bool is_used =
          with_adjoint && std::ranges::find(active_of_, static_cast<std::ptrdiff_t>(q)) != active_of_.end();
      sums_.emplace_back(is_used ? static_cast<std::int64_t>(knots[q]) * grid.local_rows() : 0);
    }
  });
}

MirrorSigns PointSources::mirrors_of(std::size_t field) const {
  MirrorSigns signs = even_mirrors;
  for (std::size_t a = 0; a < 3 && !model_.walls.empty(); ++a)
    for (std::size_t side = 0; side < 2; ++side)
      if (model_.walls[field][a][side].rule == WallRule::value) signs[a][side] = -1.0;
  return signs;
}

/// Numbers of sources that are no longer there would be read around others.
void PointSources::clear_rows() {
  for (const Row& row : rows_)
    for (const std::vector<int>* symbols : {&symbols_, &direction_symbols_})
      grid_->operations().zero(row.box.extent(), grid_->block(row.box, tables_->cells((*symbols)[row.array])));
  rows_.clear();
  boxes_.clear();
}

void PointSources::set_points(const SourcePoints& points) {
  struct Place {
    std::int64_t k, j;
    std::size_t array;
    auto operator<=>(const Place&) const = default;
  };
  std::map<Place, std::map<std::int64_t, std::vector<Share>>> by_row;  // by cell along x
  const Layout& layout = grid_->layout();
  for (std::size_t s = 0; s < points.size(); ++s) {
    const PointSource& source = model_.sources[s];
    std::vector<std::array<double, 3>> places;
    for (const SourcePoint& point : points[s]) places.push_back(point.at);
    const PointStencils stencils(*grid_, places, source.weights, mirrors_of(source.field));
    for (std::size_t p = 0; p < places.size(); ++p)
      for (const PointStencils::Cell& cell : stencils.cells(p)) {
        const bool has_rows = grid_->dimensions() > 1;
        const std::int64_t j = has_rows ? cell.row % grid_->cells()[1] : 0,
                           k = has_rows ? cell.row / grid_->cells()[1] : 0;
        const std::int64_t i = cell.cell - layout.stride_y * j - layout.stride_z * k;
        by_row[{k, j, array_of_[s]}][i].push_back({s, 0, points[s][p].factor * cell.weight / grid_->cell_volume()});
      }
  }
  clear_rows();
  for (auto& [place, cells] : by_row) {
    Row row{place.array, {{0, place.j, place.k}, {0, place.j + 1, place.k + 1}}, 0, {}};
    row.box.lo[0] = cells.begin()->first;
    row.box.hi[0] = cells.rbegin()->first + 1;
    row.row = grid_->dimensions() > 1 ? place.j + grid_->cells()[1] * place.k : row.box.lo[0];
    for (auto& [i, shares] : cells)
      for (Share& share : shares) {
        share.cell = static_cast<std::size_t>(i - row.box.lo[0]);
        row.shares.push_back(share);
      }
    at_work_.resize(std::max(at_work_.size(), static_cast<std::size_t>(row.box.hi[0] - row.box.lo[0])));
    if (std::ranges::none_of(boxes_, [&](const Box& box) { return box.lo == row.box.lo && box.hi == row.box.hi; }))
      boxes_.push_back(row.box);
    rows_.push_back(std::move(row));
  }
}

double* PointSources::cells(Tables& tables, int symbol, const Row& row) const {
  return grid_->block(row.box, tables.cells(symbol)).first;
}

std::span<const PointSources::Row> PointSources::shares_in(const Box& cells) const {
  return in_range(rows_, cells, *grid_, [](const Row& row) { return row.box; });
}

std::span<const Box> PointSources::rows_in(const Box& cells) const {
  return in_range(boxes_, cells, *grid_, [](const Box& box) { return box; });
}

void PointSources::fill(Tables& tables, std::span<const Row> rows, const std::vector<Series>& all, bool are_directions,
                        double t) {
  for (const Row& row : rows) {
    const auto count = row.box.hi[0] - row.box.lo[0];
    std::fill_n(at_work_.begin(), count, 0.0);
    for (const Share& share : row.shares) {
      const std::ptrdiff_t q = active_of_[share.source];
      if (are_directions && q < 0) continue;
      const std::size_t series = are_directions ? static_cast<std::size_t>(q) : model_.sources[share.source].series;
      at_work_[share.cell] += share.weight * all[series].at(t);
    }
    const int symbol = (are_directions ? direction_symbols_ : symbols_)[row.array];
    grid_->machine().copy(cells(tables, symbol, row), at_work_.data(), count);
  }
}

void PointSources::add_adjoint(Tables& tables, const SeriesData& series, double t) {
  for (const Row& row : rows_) {
    const bool is_active = std::ranges::any_of(row.shares, [&](const Share& s) { return active_of_[s.source] >= 0; });
    if (!is_active) continue;
    grid_->machine().copy(at_work_.data(), cells(tables, bar_symbols_[row.array], row), row.box.hi[0] - row.box.lo[0]);
    for (const Share& share : row.shares) {
      const std::ptrdiff_t q = active_of_[share.source];
      if (q < 0) continue;
      const Series& signal = series.active(static_cast<std::size_t>(q));
      const Series::Place place = signal.place(t);
      const double amount = share.weight * at_work_[share.cell];
      double* const sums = sums_[static_cast<std::size_t>(q)].data() + row.row;
      const auto knot = static_cast<std::int64_t>(place.knot), rows = grid_->local_rows();
      // In 1D each cell is a row of its own.
      const auto own = grid_->dimensions() > 1 ? 0 : static_cast<std::int64_t>(share.cell);
      sums[knot * rows + own] += (1.0 - place.weight) * amount;
      if (place.weight != 0.0) sums[(knot + 1) * rows + own] += place.weight * amount;
    }
  }
}

void PointSources::clear_sums() {
  for (Memory& sums : sums_) sums.clear();
}

void PointSources::save_sums(BlockWriter& to) const {
  for (const Memory& sums : sums_)
    if (sums.size() > 0) to.rows(sums.data(), sums.size() / grid_->local_rows());
}

void PointSources::restore_sums(BlockReader& from) {
  for (Memory& sums : sums_)
    if (sums.size() > 0) from.rows(sums.data(), sums.size() / grid_->local_rows());
}

void PointSources::add_sums(std::vector<std::vector<double>>& knots) const {
  const std::int64_t rows = grid_->local_rows();
  for (std::size_t q = 0; q < sums_.size(); ++q)
    for (std::size_t knot = 0; sums_[q].size() > 0 && knot < knots[q].size(); ++knot)
      knots[q][knot] += grid_sum(*grid_, sums_[q].data() + static_cast<std::int64_t>(knot) * rows);
}

}  // namespace hindsight
