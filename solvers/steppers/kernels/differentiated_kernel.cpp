#include "solvers/steppers/kernels/differentiated_kernel.hpp"

#include <algorithm>

#include "solvers/equations/row_buffers.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// What kernels read across ranks and walls holds the graph's elements.
GhostGroup of_graph(const Graph& graph, GhostGroup group) {
  group.element = graph.element();
  return group;
}

}  // namespace

DifferentiatedKernel::DifferentiatedKernel(const Model& model, const Active& active, KernelRequest request)
    : model_(model), active_(active), request_(std::move(request)), value_(value_kernel(request_)) {
  for (const std::string& name : request_.states) model.graph->field(name);
  if (!request_.at_sources.empty()) value_at_sources_.spec = value_kernel(request_at_sources(request_));
}

void DifferentiatedKernel::derive_adjoint() {
  gather_ = gather_kernels(model_, active_, request_);
  walls_change_ = !gather_.rings.empty() && walls_change(model_, active_, request_, 0, request_.states.size());
  gathers_states_beside_ =
      !gather_.rings.empty() || gather_.reach(symbols(request_.states), rings()).depth != std::array{0, 0, 0};
  trail_ = trail_kernel(request_);
  if (!request_.at_sources.empty()) source_adjoint_.spec = source_adjoint_kernel(model_, request_);
}

void DifferentiatedKernel::derive_tangent() {
  tangent_ = tangent_kernel(model_, active_, request_);
  if (!request_.at_sources.empty())
    tangent_at_sources_.spec = tangent_kernel(model_, active_, request_at_sources(request_));
  for (const std::string& name : directions()) model_.graph->field(name);
}

void DifferentiatedKernel::make_walls(const std::string& prefix, const Derivatives& wanted,
                                      std::vector<KernelSpec>& wall_kernels) {
  if (!crosses_walls()) return;
  const std::string stage = std::to_string(request_.stage) + "_";
  walls_.emplace(model_, wall_expressions(model_, request_.stage, nullptr), prefix + "stage" + stage, wall_kernels);
  if (!wanted.tangent) return;
  const std::vector<Seed> seeds = wall_seeds(active_, request_);
  dot_walls_.emplace(model_, wall_expressions(model_, request_.stage, &seeds), prefix + "dot" + stage, wall_kernels);
}

std::vector<const KernelSpec*> DifferentiatedKernel::specs(Direction direction) const {
  std::vector<const KernelSpec*> all;
  switch (direction) {
    case Direction::forward:
      all = {&value_, &value_at_sources_.spec, &trail_};
      break;
    case Direction::reverse:
      all = gather_.all();
      all.push_back(&source_adjoint_.spec);
      break;
    case Direction::tangent:
      all = {&tangent_, &tangent_at_sources_.spec};
      break;
  }
  std::erase_if(all, [](const KernelSpec* kernel) { return kernel->roots().empty(); });
  return all;
}

bool DifferentiatedKernel::gathers_by_rows() const {
  const bool has_active_sources = !source_adjoint_.spec.roots().empty() && !active_.series.empty();
  return !gather_.main.roots().empty() && !has_active_sources && !walls_change_;
}

std::array<int, 3> DifferentiatedKernel::fed_by_walls() const {
  const std::array<int, 3> depth = rings();
  std::array<int, 3> fed{0, 0, 0};
  for (const GatherKernels::Ring& ring : gather_.rings) {
    // A known field may be read further away than what is gathered.
    const std::size_t a = ring.side.axis;
    const int reach = deepest({&ring.spec}, symbols(request_.multiplier_arrays)).depth[a];
    fed[a] = std::max(fed[a], std::min(depth[a], reach));
  }
  return fed;
}

int DifferentiatedKernel::rows_beside(Direction direction) const {
  if (model_.dimensions != 2 || main(direction).roots().empty()) return 0;  // buffers hold rows of one plane
  int rows = 0;
  for (const RowBuffer& buffer : row_buffers(main(direction))) rows = std::max(rows, buffer.y[1] - buffer.y[0]);
  return rows;
}

const KernelSpec& DifferentiatedKernel::main(Direction direction) const {
  if (direction == Direction::reverse) return gather_.main;
  return direction == Direction::forward ? value_ : tangent_;
}

Pass* DifferentiatedKernel::pass(Direction direction) {
  std::optional<Pass>& pass = direction == Direction::forward   ? value_pass_
                              : direction == Direction::tangent ? tangent_pass_
                                                                : gather_pass_;
  return pass && (direction != Direction::reverse || gathers_by_rows()) ? &*pass : nullptr;
}

std::array<int, 3> DifferentiatedKernel::rings() const {
  return ring_depth(model_, request_.expressions);
}

std::array<int, 3> DifferentiatedKernel::halo() const {
  const auto depth = [&](Direction direction) { return deepest(specs(direction), {}).depth; };
  std::array<int, 3> halo = deeper(depth(Direction::forward), depth(Direction::tangent));
  halo = deeper(halo, depth(Direction::reverse));
  return deeper(halo, gather_.reach({}, rings()).depth);
}

Reach DifferentiatedKernel::value_reach() const {
  return deepest({&value_}, symbols(request_.states));
}

Reach DifferentiatedKernel::recorded_reach() const {
  const std::vector<int> states = symbols(request_.states);
  std::vector<const KernelSpec*> readers = specs(Direction::reverse);
  for (const KernelSpec* spec : specs(Direction::tangent)) readers.push_back(spec);
  readers.push_back(&value_);
  Reach all = deepest(readers, states);
  all.depth = deeper(all.depth, gather_.reach(states, rings()).depth);
  return all;
}

std::array<int, 3> DifferentiatedKernel::reads(Direction direction) const {
  if (direction != Direction::reverse) return deepest({&main(direction)}, {}).depth;
  std::array<int, 3> reads = deepest({&gather_.main, &gather_.border}, {}).depth;
  for (const GatherKernels::Ring& ring : gather_.rings) {
    const std::array<int, 3> own = deepest({&ring.spec}, {}).depth;
    for (std::size_t a = 0; a < 3; ++a)
      if (a != ring.side.axis) reads[a] = std::max(reads[a], own[a]);
  }
  return reads;
}

Reach DifferentiatedKernel::gather_reach() const {
  return deepest({&gather_.main}, symbols(request_.multiplier_arrays));
}

std::vector<int> DifferentiatedKernel::symbols(const std::vector<std::string>& arrays) const {
  std::vector<int> all;
  for (const std::string& array : arrays) all.push_back(model_.graph->field_index(array));
  return all;
}

std::vector<std::string> DifferentiatedKernel::directions() const {
  std::vector<std::string> all;
  for (std::size_t f = 0; f < differentiated_states(model_, active_, request_); ++f)
    all.push_back(StageNames::dot(request_.states[f]));
  return all;
}

void DifferentiatedKernel::prepare(const KernelContext& context) {
  for (std::optional<WallValues>* walls : {&walls_, &dot_walls_})
    if (*walls) (*walls)->prepare(context.wall_library, context.tables);
  boxes_ = context.around_sources;
  for (Around* around : {&value_at_sources_, &tangent_at_sources_, &source_adjoint_})
    if (!around->spec.roots().empty()) around->kernel = context.loaded(around->spec);
  make_value_passes(context);
  const auto repeats = [&](const KernelSpec& spec) { return spec.roots().empty() || context.loaded(spec).repeats(); };
  repeats_ = request_.repeats && repeats(value_) && repeats(trail_) && repeats(gather_.main);
  if (!specs(Direction::tangent).empty()) make_tangent_pass(context);
  if (specs(Direction::reverse).empty()) return;
  make_gather_pass(context);
  if (!gather_.rings.empty()) make_wall_gather(context);
}

GhostGroup DifferentiatedKernel::state_ghosts(const KernelContext& context, const KernelSpec& kernel) const {
  const std::vector<FieldWalls>* const walls = walls_ ? &walls_->walls() : &context.zero_walls;
  return of_graph(*model_.graph, ghosts_for(kernel, symbols(request_.states), walls));
}

GhostGroup DifferentiatedKernel::gather_ghosts(const std::vector<int>& symbols,
                                               const std::vector<FieldWalls>* walls) const {
  GhostGroup group = of_graph(*model_.graph, ghosts_for(gather_.main, symbols, walls));
  const Reach all = gather_.reach(symbols, rings());
  group.corners = group.corners || all.corners;
  if (all.read) group.depth = all.depth;
  return group;
}

void DifferentiatedKernel::make_value_passes(const KernelContext& context) {
  const Kernel kernel = value_kernel_ = context.loaded(value_);
  GhostGroup ghosts = value_ghosts_ = state_ghosts(context, value_);
  value_pass_.emplace(context.grid, kernel, std::vector<GhostGroup>{ghosts});
  if (const Kernel trail = context.loaded(trail_)) trail_pass_.emplace(context.grid, trail, std::vector<GhostGroup>{});
  if (request_.ghosts != StateGhosts::recorded) return;
  const Reach all = recorded_reach();
  ghosts.depth = all.depth;
  ghosts.corners = all.corners;
  recorded_pass_.emplace(context.grid, kernel, std::vector<GhostGroup>{ghosts});
}

Pass DifferentiatedKernel::value_pass(const Grid& grid, bool with_before) const {
  std::vector<GhostGroup> groups{value_ghosts_};
  if (with_before) groups.push_back(value_ghosts_);
  if (with_before) groups.back().symbols = symbols(request_.before);
  return {grid, value_kernel_, groups};
}

Pass DifferentiatedKernel::value_pass(const Grid& grid, const Kernel& kernel, const std::array<int, 3>& layers) const {
  GhostGroup group = value_ghosts_;
  group.reach = group.depth = layers;
  group.corners = true;
  return {grid, kernel, {group}};
}

void DifferentiatedKernel::make_tangent_pass(const KernelContext& context) {
  std::vector<GhostGroup> groups;
  if (request_.ghosts == StateGhosts::at_every_pass) groups.push_back(state_ghosts(context, tangent_));
  const std::vector<FieldWalls>* const walls = dot_walls_ ? &dot_walls_->walls() : &context.zero_walls;
  groups.push_back(of_graph(*model_.graph, ghosts_for(tangent_, symbols(directions()), walls)));
  tangent_pass_.emplace(context.grid, context.loaded(tangent_), groups);
}

void DifferentiatedKernel::make_gather_pass(const KernelContext& context) {
  std::vector<GhostGroup> groups;
  if (request_.ghosts == StateGhosts::at_every_pass)
    groups.push_back(gather_ghosts(symbols(request_.states), walls_ ? &walls_->walls() : &context.zero_walls));
  if (!request_.multiplier_arrays.empty())
    groups.push_back(gather_ghosts(symbols(request_.multiplier_arrays), &context.zero_walls));
  gather_pass_.emplace(context.grid, context.loaded(gather_.main), groups,
                       BorderKernel{context.loaded(gather_.border), rings()});
  if (context.gathered_in != nullptr) gather_pass_->restrict_to(*context.gathered_in);
}

void DifferentiatedKernel::make_wall_gather(const KernelContext& context) {
  Tables& tables = context.tables;
  std::vector<WallGather::Target> targets;
  std::vector<int> missing;
  for (const KernelSpec::Output& output : gather_.rings.front().spec.outputs) {
    WallGather::Target target{model_.graph->field_index(output.field), context.mirror_walls.data(), {}};
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      if (output.field != StageNames::ghost(model_.fields[f])) continue;
      target.walls = &walls_->walls()[f];
      target.wall_bar = context.wall_adjoint->prepare(f, context.wall_library, context.knots, tables);
    }
    if (tables.field(target.ghost) == nullptr) missing.push_back(target.ghost);
    targets.push_back(target);
  }
  context.grid.communicator().together([&] { tables.allocate(missing); });
  std::vector<WallGather::Ring> loaded;
  for (const GatherKernels::Ring& ring : gather_.rings)
    loaded.push_back({static_cast<int>(ring.side.axis), ring.side.upper, context.loaded(ring.spec)});
  wall_gather_.emplace(context.grid, loaded, context.loaded(gather_.add), fed_by_walls(), targets);
  if (context.gathered_in != nullptr) wall_gather_->restrict_to(*context.gathered_in);
}

}  // namespace hindsight
