#include "solvers/steppers/explicit/several_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "runtime/error.hpp"
#include "solvers/steppers/explicit/runge_kutta_walks.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

// In one walk: as many as what they have in use fits into a core's cache.
constexpr std::array<std::int64_t, 2> depths{4, 2};
// Stages in one walk: where there are more, steps wait for arithmetic as it is. Measured: heat on a plane takes half as
// long by Euler's method in fours, a tenth less by Heun's in twos, and as long by methods of four stages.
constexpr std::int64_t most_passes = 4;

/// As many as a method of so many stages takes in one walk: the most first.
std::vector<std::int64_t> depths_of(std::size_t stages) {
  const auto* const rows = std::get_if<walks::Rows>(&Wavefront::asked());
  std::vector<std::int64_t> all;
  for (const std::int64_t steps : depths)
    if (steps * static_cast<std::int64_t>(stages) <= most_passes && (rows == nullptr || steps <= rows->steps))
      all.push_back(steps);
  return all;
}

}  // namespace

bool SeveralSteps::are_possible(int stages) {
  return !depths_of(static_cast<std::size_t>(stages)).empty();
}

SeveralSteps::SeveralSteps(const Model& model, const std::vector<std::vector<int>>& stages)
    : model_(model), stages_(stages), count_(stages.size() - 1), depths_(depths_of(count_)) {
  Graph& graph = *model.graph;
  const auto of_step = [&](const Symbols& names, std::int64_t step) {
    Symbols symbols;
    for (const int name : names) {
      const std::string own = fmt::format("{}~{}", graph.fields()[static_cast<std::size_t>(name)], step);
      symbols.push_back(graph.field(own).node().symbol);
    }
    return symbols;
  };
  std::vector<Symbols> names;
  for (std::size_t i = 0; i < count_; ++i) names.push_back(RungeKuttaWalks::handed_on(model, stages, i, false));
  between_.push_back(of_step(stages.front(), 0));
  for (std::int64_t step = 0; step < depths_.front(); ++step) {
    between_.push_back(of_step(stages.front(), step + 1));
    own_.push_back(names);
    for (Symbols& symbols : own_.back())
      if (step > 0) symbols = of_step(symbols, step);
  }
}

std::vector<WalkHalo> SeveralSteps::halos(const KernelSet& kernels) const {
  std::vector<WalkHalo> halos;
  for (const std::int64_t steps : depths_)
    halos.push_back({kernels.halo_one_after_another(static_cast<std::size_t>(steps)), count_});
  return halos;
}

void SeveralSteps::prepare(const Tables& tables, std::vector<DifferentiatedKernel>& kernels) {
  for (const std::int64_t steps : depths_) make(tables, kernels, steps);
}

std::vector<std::pair<int, int>> SeveralSteps::arrays_of(std::size_t step) const {
  std::vector<std::pair<int, int>> arrays;
  const auto add = [&](const Symbols& names, const Symbols& own) {
    for (std::size_t n = 0; n < names.size(); ++n) arrays.emplace_back(names[n], own[n]);
  };
  add(stages_.front(), between_[step]);
  add(stages_.back(), between_[step + 1]);
  for (std::size_t i = 0; i < count_ && step > 0; ++i) add(own_.front()[i], own_[step][i]);
  return arrays;
}

void SeveralSteps::add_stage(std::vector<Wavefront::Step>& all, Walk& walk, DifferentiatedKernel& kernel,
                             const Grid& grid) const {
  const std::size_t number = all.size(), step = number / count_, stage = number % count_;
  const bool ends_step = stage + 1 == count_, is_last = ends_step && step + 1 == static_cast<std::size_t>(walk.steps);
  walk.passes.push_back(std::make_unique<Pass>(kernel.value_pass(grid, false)));
  Wavefront::Step& added = all.emplace_back(Wavefront::Step{.pass = walk.passes.back().get(),
                                                            .handed_on = {},
                                                            .reads = kernel.reads(Direction::forward),
                                                            .rows_beside = kernel.rows_beside(Direction::forward),
                                                            .beside = walk.each[step].get()});
  if (is_last) return;
  added.handed_on = ends_step ? between_[step + 1] : own_[step][stage];
  added.last_reader = (step + (ends_step ? 2 : 1)) * count_ - 1;
  added.last_beside = number + 1;
}

void SeveralSteps::make(const Tables& tables, std::vector<DifferentiatedKernel>& kernels, std::int64_t steps) {
  const Grid& grid = tables.grid();
  if (!grid.machine().is_host()) return;
  Walk walk{steps, {}, {}};
  std::vector<Wavefront::Step> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    walk.each.push_back(std::make_unique<OfStep>(arrays_of(static_cast<std::size_t>(step))));
    for (DifferentiatedKernel& kernel : kernels) add_stage(all, walk, kernel, grid);
  }
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  if (!Wavefront::suits(grid, all, fields, model_.graph->element(), count_)) return;
  walk.wavefront = std::make_unique<Wavefront>(tables, all);
  if (walk.wavefront->keeps_rows() && walk.wavefront->is_in_cache(grid)) walks_.push_back(std::move(walk));
}

std::int64_t SeveralSteps::steps(std::int64_t most) const {
  for (const Walk& walk : walks_)
    if (walk.steps <= most) return walk.steps;
  return 1;
}

const SeveralSteps::Walk& SeveralSteps::walk_of(std::int64_t steps) const {
  const auto found = std::ranges::find(walks_, steps, &Walk::steps);
  if (found == walks_.end()) throw Error(ExitCode::bug, "no walk takes so many steps");
  return *found;
}

bool SeveralSteps::may_overwrite(std::int64_t steps) const {
  return walk_of(steps).wavefront->may_overwrite();
}

void SeveralSteps::run(Tables& tables, std::int64_t steps, double* u, double* next) {
  const Walk& walk = walk_of(steps);
  tables.bind_state(between_.front(), u);
  tables.bind_state(between_[static_cast<std::size_t>(steps)], next);
  walk.wavefront->run(tables);
}

std::string SeveralSteps::describe() const {
  if (walks_.empty()) return "";
  return fmt::format("{} {}", walks_.front().steps, walks_.front().wavefront->describe());
}

}  // namespace hindsight
