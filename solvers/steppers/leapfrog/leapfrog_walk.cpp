#include "solvers/steppers/leapfrog/leapfrog_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

// In one walk: as many as what they have in use fits into a core's cache; an even number leaves levels where they were.
constexpr std::array<std::size_t, 2> depths{4, 2};

}  // namespace

std::vector<WalkHalo> LeapfrogWalk::halos(const DifferentiatedKernel& kernel) {
  const std::array<int, 3> reads = kernel.reads(Direction::forward);
  std::vector<WalkHalo> halos;
  for (const std::size_t steps : depths) {
    halos.push_back({reads, steps});
    for (int& layers : halos.back().layers) layers *= static_cast<int>(steps);
  }
  return halos;
}

LeapfrogWalk::LeapfrogWalk(const Parts& parts, const Tables& tables, bool one_by_one) : parts_(parts) {
  const Grid& grid = tables.grid();
  const bool is_whole = grid.dimensions() > 1 && !Wavefront::goes_on(grid);
  // What sources and layers do beyond a rank's own cells is not there for others; what layers read must be done.
  const std::array<int, 3> reads = parts.kernel.reads(Direction::forward);
  const bool suits = !one_by_one && deeper(reads, parts.layers.reads()) == reads &&
                     (is_whole || (!parts.sources.are_any() && !parts.layers.are_any()));
  for (const std::size_t steps : depths)
    if (suits && grid.dimensions() > 1 && make_walk(tables, steps)) return;
  works_.push_back(std::make_unique<Work>(parts_, kept_));
}

bool LeapfrogWalk::make_walk(const Tables& tables, std::size_t steps) {
  const Grid& grid = tables.grid();
  std::vector<Wavefront::Step> all;
  for (std::size_t i = 0; i < steps; ++i) {
    passes_.push_back(std::make_unique<Pass>(parts_.kernel.value_pass(grid, i == 0 && Wavefront::goes_on(grid))));
    works_.push_back(std::make_unique<Work>(parts_, kept_));
    all.push_back({.pass = passes_.back().get(),
                   .handed_on = {},
                   .reads = parts_.kernel.reads(Direction::forward),
                   .rows_beside = parts_.kernel.rows_beside(Direction::forward),
                   .beside = works_.back().get()});
  }
  const auto fields = static_cast<std::int64_t>(parts_.next.size());
  if (Wavefront::suits(grid, all, fields, tables.cells(parts_.next.front()).element)) {
    walk_.emplace(tables, all);
    if (walk_->may_overwrite() && walk_->fit(grid, traffic(parts_.kernel.value()).first)) return true;
  }
  walk_.reset();
  passes_.clear();
  works_.clear();
  return false;
}

void LeapfrogWalk::sources_changed() {
  std::int64_t cells = 0;
  for (const Box& row : parts_.sources.rows()) cells += row.cells();
  kept_.resize(static_cast<std::size_t>(cells) * parts_.next.size());
}

void LeapfrogWalk::run(Tables& tables, std::span<const StepTime> times, StateBlocks u) {
  for (std::size_t i = 0; i < works_.size(); ++i) {  // bound too where they do nothing
    works_[i]->begin(i < times.size() ? times[i].t : 0.0, u);
    std::swap(u.now, u.before);
  }
  if (times.size() > 1) return walk_->run(tables, times.size());
  Work& work = *works_.front();
  const Box all = tables.grid().interior();
  work.bind(tables);
  work.before(tables, all);
  parts_.kernel.pass(Direction::forward)->run(tables);
  work.after(tables, all);
}

std::string LeapfrogWalk::describe() const {
  return walk_ ? fmt::format("{} {}", steps(), walk_->describe()) : "";
}

void LeapfrogWalk::Work::bind(Tables& tables) {
  tables.bind_state(parts_.state, u_);
  tables.bind_state(parts_.next, u_.before);
}

template <class Visit>
void LeapfrogWalk::Work::each_box(const Box& cells, Visit visit) const {
  double* kept = kept_.data();
  for (const Box& row : parts_.sources.rows_in(cells)) {
    const Box box = common(row, cells);
    if (box.is_empty()) continue;
    visit(box, kept);
    kept += box.cells() * std::ssize(parts_.next);
  }
}

void LeapfrogWalk::Work::before(Tables& tables, const Box& cells) {
  if (!parts_.sources.are_any()) return;
  parts_.sources.fill_in(tables, parts_.series, t_, cells);
  const Grid& grid = tables.grid();
  each_box(cells, [&](const Box& box, double* kept) {
    for (const int symbol : parts_.state.before) {
      grid.operations().pack(box.extent(), grid.block(box, tables.cells(symbol)), kept);
      kept += box.cells();
    }
  });
}

/// Cells around sources are computed again, from what the kernel has overwritten there.
void LeapfrogWalk::Work::after(Tables& tables, const Box& cells) {
  const Grid& grid = tables.grid();
  each_box(cells, [&](const Box& box, const double* kept) {
    for (const int symbol : parts_.state.before) {
      grid.operations().unpack(box.extent(), kept, grid.block(box, tables.cells(symbol)));
      kept += box.cells();
    }
    parts_.kernel.run_at_sources(Direction::forward, tables, box);
  });
  parts_.layers.step_in(tables, u_.now, u_.before, cells);
}

}  // namespace hindsight
