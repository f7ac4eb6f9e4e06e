#include "solvers/steppers/wall_adjoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/ordered_sum.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {
namespace {

/// The entries of a wall's arrays that rules can reach, in global indices; one layer across the wall.
struct WallPart {
  Box box;
  std::size_t ap, aq;
  WallLayout layout;
  Index3 first;

  WallPart(const Grid& grid, int axis, const std::array<int, 3>& depth)
      : box(owned_box(grid)),
        ap(axis == 0 ? 1 : 0),
        aq(axis == 2 ? 1 : 2),
        layout(wall_layout(grid, axis)),
        first(grid.first()) {
    for (const std::size_t a : {ap, aq}) {
      if (grid.is_wall(static_cast<int>(a), 0)) box.lo[a] -= depth[a];
      if (grid.is_wall(static_cast<int>(a), 1)) box.hi[a] += depth[a];
    }
    box.lo[static_cast<std::size_t>(axis)] = 0;
    box.hi[static_cast<std::size_t>(axis)] = 1;
  }
  /// Calls visit(place in a wall's array, global indices along the wall) in the order of a block.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t q = box.lo[aq]; q < box.hi[aq]; ++q)
      for (std::int64_t p = box.lo[ap]; p < box.hi[ap]; ++p)
        visit(layout.origin + (p - first[ap]) + layout.stride * (q - first[aq]), p, q);
  }
};

}  // namespace

WallAdjoint::WallAdjoint(const Model& model, const Active& active, const std::vector<Stage>& stages, Expr share,
                         const std::string& prefix, std::vector<KernelSpec>& kernels)
    : model_(model), active_(active) {
  for (const Stage& stage : stages) depth_ = deeper(depth_, stage.depth);
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (int axis = 0; axis < model.dimensions; ++axis)
      for (int side = 0; side < 2; ++side) {
        if (!model.has_walls[static_cast<std::size_t>(axis)]) continue;
        Face face = named_face(f, axis, side, prefix);
        bool used = false;
        for (const Stage& stage : stages) {
          KernelSpec kernel = derivative(face, stage, share);
          if (kernel.outputs.empty()) continue;
          used = true;
          kernel.name = fmt::format("w{}", kernels.size());
          tasks_.push_back({faces_.size(), stage.number, kernels.size()});
          kernels.push_back(kernel);
        }
        if (used) faces_.push_back(std::move(face));
      }
}

WallAdjoint::Face WallAdjoint::named_face(std::size_t field, int axis, int side, const std::string& prefix) const {
  const std::string name = fmt::format("{}{}_{}{}", prefix, model_.fields[field], "xyz"[axis], side);
  const auto symbol = [&](const std::string& array) {
    const int made = model_.graph->field(array).node().symbol;
    model_.graph->set_kind(made, {});
    return made;
  };
  Face face;
  face.field = field;
  face.axis = axis;
  face.side = side;
  face.bar_symbol = symbol("wallbar_" + name);
  for (const std::string& p : active_.scalars) face.scalar_symbols.push_back(symbol("wallsum_" + name + "_" + p));
  for (const std::string& q : active_.series) {
    const int lower = symbol("wallknot0_" + name + "_" + q);
    face.series_symbols.push_back({lower, symbol("wallknot1_" + name + "_" + q)});
  }
  return face;
}

/// Without a name.
KernelSpec WallAdjoint::derivative(const Face& face, const Stage& stage, Expr share) const {
  Graph& graph = *model_.graph;
  const auto name_of = [&](int symbol) { return graph.fields()[static_cast<std::size_t>(symbol)]; };
  const ModelWall& wall =
      model_.walls[face.field][static_cast<std::size_t>(face.axis)][static_cast<std::size_t>(face.side)];
  std::vector<std::string> names = active_.scalars;
  for (const SeriesVariable& q : stage.series) names.push_back(q.name);
  const std::vector<Expr> value = at_stage(model_, {wall.value}, std::to_string(stage.number));
  const Adjoint own = adjoint(value, {graph.field(name_of(face.bar_symbol))}, {}, names);
  KernelSpec kernel;
  const auto add = [&](int symbol, Expr amount) {
    const std::string array = name_of(symbol);
    const auto known = std::ranges::find(kernel.outputs, array, &KernelSpec::Output::field);
    if (known == kernel.outputs.end())
      kernel.outputs.push_back({array, graph.field(array) + amount});
    else
      known->value = known->value + amount;  // of a series, beside its rate
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (own.scalars[i].is_constant(0.0)) continue;
    const Expr amount = share.is_valid() ? share * own.scalars[i] : own.scalars[i];
    if (i < active_.scalars.size()) {
      add(face.scalar_symbols[i], amount);
      continue;
    }
    const SeriesVariable& q = stage.series[i - active_.scalars.size()];
    for (std::size_t knot = 0; knot < 2; ++knot)
      add(face.series_symbols[q.series][knot], graph.scalar(q.weights[knot]) * amount);
  }
  return kernel;
}

std::array<std::array<double*, 2>, 3> WallAdjoint::prepare(std::size_t field, const KernelLibrary& library,
                                                           const std::vector<std::size_t>& knots, Tables& tables) {
  library_ = &library;
  knots_ = knots;
  std::array<std::array<double*, 2>, 3> bars{};
  for (Face& face : faces_) {
    if (face.field != field) continue;
    face.is_prepared = true;
    make_scratch(tables.grid(), face);
    if (!tables.grid().is_wall(face.axis, face.side)) continue;
    const WallLayout layout = wall_layout(tables.grid(), face.axis);
    Machine& machine = tables.grid().machine();
    if (face.bar.size() == 0) {
      face.bar = Memory(layout.size, machine);
      face.unused_knot = Memory(layout.size, machine);
      for (std::size_t p = 0; p < face.scalar_symbols.size(); ++p) face.scalar_sums.emplace_back(layout.size, machine);
      for (const std::size_t count : knots)
        face.knot_sums.emplace_back(layout.size * static_cast<std::int64_t>(count), machine);
    }
    tables.bind(face.bar_symbol, face.bar.data() + layout.origin);
    for (std::size_t p = 0; p < face.scalar_symbols.size(); ++p)
      tables.bind(face.scalar_symbols[p], face.scalar_sums[p].data() + layout.origin);
    bars[static_cast<std::size_t>(face.axis)][static_cast<std::size_t>(face.side)] = face.bar.data();
  }
  return bars;
}

void WallAdjoint::bind_knots(Tables& tables, Face& face, const std::vector<Series::Place>& places) const {
  const WallLayout layout = wall_layout(tables.grid(), face.axis);
  for (std::size_t q = 0; q < face.series_symbols.size(); ++q) {
    double* const lower = face.knot_sums[q].data() + layout.size * static_cast<std::int64_t>(places[q].knot);
    double* const upper = places[q].knot + 1 < knots_[q] ? lower + layout.size : face.unused_knot.data();
    tables.bind(face.series_symbols[q][0], lower + layout.origin);
    tables.bind(face.series_symbols[q][1], upper + layout.origin);
  }
}

void WallAdjoint::accumulate(Tables& tables, int stage, const std::vector<Series::Place>& places) {
  for (const Task& task : tasks_) {
    Face& face = faces_[task.face];
    if (task.stage != stage || face.bar.size() == 0) continue;
    bind_knots(tables, face, places);
    launch_on_wall(tables, (*library_)[task.kernel], face.axis, face.side);
  }
  for (Face& face : faces_) {
    const Index3 all{face.bar.size(), 1, 1};
    tables.grid().operations().zero(all, CellOperations::packed(all, face.bar.data()));
  }
}

void WallAdjoint::clear() {
  for (Face& face : faces_) {
    for (Memory& m : face.scalar_sums) m.clear();
    for (Memory& m : face.knot_sums) m.clear();
  }
}

WallAdjoint::Extent WallAdjoint::extent(const Grid& grid, const Face& face) const {
  const std::size_t p = face.axis == 0 ? 1 : 0, q = face.axis == 2 ? 1 : 2;
  const Index3& cells = grid.global_cells();
  return {p, q, cells[p] + 2 * depth_[p], cells[q] + 2 * depth_[q]};
}

std::size_t WallAdjoint::sets_at_once(const Extent& extent, std::size_t sets) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(scratch_doubles / extent.size()), 1, std::max(sets, 1UL));
}

void WallAdjoint::make_scratch(const Grid& grid, const Face& face) {
  std::size_t sets = face.scalar_symbols.size();
  for (const std::size_t count : knots_) sets += count;
  const Extent e = extent(grid, face);
  const std::int64_t needed = static_cast<std::int64_t>(sets_at_once(e, sets)) * e.size();
  if (scratch_.size() < needed) scratch_ = Memory(needed);
}

/// For each set of sums the total of the entries that rules can reach: owned cells, and ghost corners beyond other
/// walls. One reduction for as many sets as the scratch memory holds; a face that is not here gives null pointers.
std::vector<double> WallAdjoint::totals(const Grid& grid, const Face& face,
                                        const std::vector<const double*>& sets) const {
  const Extent e = extent(grid, face);
  const std::int64_t hp = depth_[e.p], hq = depth_[e.q];
  const WallPart part(grid, face.axis, depth_);
  const auto spread = [&](const double* sums_there, double* all) {
    const HostView sums(grid.machine(), sums_there, part.layout.size);
    part.for_each(
        [&](std::int64_t at, std::int64_t p, std::int64_t q) { all[p + hp + e.width * (q + hq)] = sums[at]; });
  };
  std::vector<double> result;
  for (std::size_t begin = 0, count = sets_at_once(e, sets.size()); begin < sets.size(); begin += count) {
    count = std::min(count, sets.size() - begin);
    double* const dense = scratch_.data();
    const std::span<double> used(dense, count * static_cast<std::size_t>(e.size()));
    std::fill(used.begin(), used.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i)
      if (sets[begin + i] != nullptr) spread(sets[begin + i], dense + static_cast<std::int64_t>(i) * e.size());
    grid.communicator().sum(used);
    for (std::size_t i = 0; i < count; ++i)
      result.push_back(pairwise_sum(dense + static_cast<std::int64_t>(i) * e.size(), e.size()));
  }
  return result;
}

namespace {

/// Calls visit(array) for all sums of a face, each of a wall's layout.
template <class Face, class Visit>
void for_each_sum(Face& face, std::int64_t size, Visit visit) {
  for (auto& m : face.scalar_sums) visit(m.data());
  for (auto& m : face.knot_sums)
    for (std::int64_t k = 0; k < m.size() / size; ++k) visit(m.data() + k * size);
}

/// Sums of a face, here or not: their number is the same on all ranks.
std::size_t count_sums(std::size_t scalars, const std::vector<std::size_t>& knots) {
  for (const std::size_t count : knots) scalars += count;
  return scalars;
}

}  // namespace

void WallAdjoint::save(BlockWriter& to, const Grid& grid) const {
  std::vector<double> values;
  for (const Face& face : faces_) {
    if (face.bar.size() == 0) {
      for (std::size_t i = count_sums(face.scalar_symbols.size(), knots_); i > 0; --i) to.block({{}, {}}, {});
      continue;
    }
    const WallPart part(grid, face.axis, depth_);
    for_each_sum(face, part.layout.size, [&](const double* sums_there) {
      const HostView sums(grid.machine(), sums_there, part.layout.size);
      values.clear();
      part.for_each([&](std::int64_t at, std::int64_t, std::int64_t) { values.push_back(sums[at]); });
      to.block(part.box, values);
    });
  }
}

void WallAdjoint::restore(BlockReader& from, const Grid& grid) {
  std::vector<double> values;
  for (Face& face : faces_) {
    if (face.bar.size() == 0) {
      for (std::size_t i = count_sums(face.scalar_symbols.size(), knots_); i > 0; --i) from.block({{}, {}}, {});
      continue;
    }
    const WallPart part(grid, face.axis, depth_);
    values.resize(static_cast<std::size_t>(part.box.cells()));
    for_each_sum(face, part.layout.size, [&](double* sums_there) {
      from.block(part.box, values);
      std::vector<double> sums = grid.machine().values(sums_there, part.layout.size);
      std::size_t next = 0;
      part.for_each(
          [&](std::int64_t at, std::int64_t, std::int64_t) { sums[static_cast<std::size_t>(at)] = values[next++]; });
      grid.machine().copy(sums_there, sums.data(), part.layout.size);
    });
  }
}

void WallAdjoint::add_sums(const Grid& grid, std::vector<double>& scalars,
                           std::vector<std::vector<double>>& knots) const {
  for (const Face& face : faces_) {
    if (!face.is_prepared) continue;
    const bool here = face.bar.size() > 0;
    const std::int64_t size = wall_layout(grid, face.axis).size;
    std::vector<const double*> sets;
    std::vector<double*> targets;
    for (std::size_t p = 0; p < face.scalar_symbols.size(); ++p) {
      sets.push_back(here ? face.scalar_sums[p].data() : nullptr);
      targets.push_back(&scalars[p]);
    }
    for (std::size_t q = 0; q < face.series_symbols.size(); ++q)
      for (std::size_t k = 0; k < knots[q].size(); ++k) {
        sets.push_back(here ? face.knot_sums[q].data() + size * static_cast<std::int64_t>(k) : nullptr);
        targets.push_back(&knots[q][k]);
      }
    const std::vector<double> found = totals(grid, face, sets);
    for (std::size_t i = 0; i < found.size(); ++i) *targets[i] += found[i];
  }
}

}  // namespace hindsight
