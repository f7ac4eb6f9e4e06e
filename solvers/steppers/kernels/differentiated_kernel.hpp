// Expressions at every cell, their tangent and their gather: derived, and run with the ghosts and walls that they need.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/pass.hpp"
#include "solvers/steppers/wall_adjoint.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {

/// Which derivatives are wanted.
struct Derivatives {
  bool adjoint = false, tangent = false;
};

/// What kernels are run for.
enum class Direction { forward, reverse, tangent };

/// What kernels that are compiled together share on a grid. All of it outlives them.
struct KernelContext {
  const Grid& grid;
  Tables& tables;
  std::function<Kernel(const KernelSpec&)> loaded;  ///< an empty one of a spec that is empty
  const KernelLibrary& wall_library;
  const std::vector<FieldWalls>& zero_walls;         ///< of multipliers, one per field of the model
  const std::vector<FieldWalls>& mirror_walls;       ///< of a parameter field
  WallAdjoint* wall_adjoint;                         ///< null where no wall value is differentiated
  std::vector<std::size_t> knots;                    ///< of each active series
  const std::vector<Box>* around_sources = nullptr;  ///< cells around sources, where a request has some
  const std::vector<Box>* gathered_in = nullptr;     ///< cells that gathers find something in; null: all
};

/// The kernels of one request. Arrays are bound in Tables by the names of the request: the state, its direction
/// (StageNames::dot), multipliers, parameter fields and their directions (dot) and derivatives (bar), and what the
/// epilogue reads and writes. Walls must have been evaluated (KernelSet).
class DifferentiatedKernel {
 public:
  /// Derives the value. @param model, active outlive it.
  DifferentiatedKernel(const Model& model, const Active& active, KernelRequest request);

  void derive_adjoint();
  void derive_tangent();
  /// Makes the wall values of this evaluation, where it reads them. @param prefix see WallValues.
  void make_walls(const std::string& prefix, const Derivatives& wanted, std::vector<KernelSpec>& wall_kernels);
  bool crosses_walls() const { return cross_walls(model_, request_.expressions); }

  /// What states beyond walls follow from; null where it reads none there.
  const WallValues* walls() const { return walls_ ? &*walls_ : nullptr; }
  /// Symbols of the states that it reads, one per field.
  std::vector<int> states() const { return symbols(request_.states); }

  /// The arrays of the states' directions.
  std::vector<std::string> directions() const;
  /// What exists of a direction, in the order in which it runs.
  std::vector<const KernelSpec*> specs(Direction direction) const;
  const KernelSpec& value() const { return value_; }
  const KernelSpec& tangent() const { return tangent_; }
  const GatherKernels& gather() const { return gather_; }
  int stage() const { return request_.stage; }
  const std::vector<SeriesVariable>& series() const { return request_.series; }
  Expr share() const { return request_.share; }
  /// Layers of ghosts that feed back through walls.
  std::array<int, 3> rings() const;
  /// Ghost layers that the kernels read.
  std::array<int, 3> halo() const;
  /// What values read of the states, and what all kernels do.
  Reach value_reach() const;
  Reach recorded_reach() const;
  /// What the gather reads of multipliers.
  Reach gather_reach() const;
  /// How far values, gathers or tangents read any array, and coordinates, in cells beside walls too.
  std::array<int, 3> reads(Direction direction) const;

  /// Makes the passes and allocates ghost arrays that nobody has allocated yet. Collective.
  void prepare(const KernelContext& context);

  void evaluate_walls(Tables& tables) {
    if (walls_) walls_->evaluate(tables);
  }
  void evaluate_wall_tangents(Tables& tables) {
    if (dot_walls_) dot_walls_->evaluate(tables);
  }
  void run_value(const Tables& tables) {
    value_pass_->run(tables);
    around_sources(tables, value_at_sources_);
  }
  // Several steps in a launch (KernelRequest::repeats, Launch::times), on grids without dimensions; once prepared.
  /// Whether all kernels that there are can.
  bool repeats() const { return repeats_; }
  void run_value(const Tables& tables, std::int64_t times) { value_pass_->run(tables, times, 0); }
  /// Leaves a trail, for the gather. Once derive_adjoint() was called.
  void run_trail(const Tables& tables, std::int64_t times, std::int64_t trail_step) {
    trail_pass_->run(tables, times, trail_step);
  }
  void run_gather(const Tables& tables, std::int64_t times, std::int64_t trail_step) {
    if (gather_pass_) gather_pass_->run(tables, times, trail_step);
  }
  /// The same, bit for bit; the ghosts of the state are as deep as derivatives read them (StateGhosts::recorded).
  void run_recorded(const Tables& tables) {
    recorded_pass_->run(tables);
    around_sources(tables, value_at_sources_);
  }
  /// Only fills these ghosts.
  void fill_recorded_ghosts(const Tables& tables) { recorded_pass_->fill_ghosts(tables); }
  void run_tangent(const Tables& tables) {
    tangent_pass_->run(tables);
    around_sources(tables, tangent_at_sources_);
  }
  /// Derivatives by the sources' arrays, where multipliers and the recorded state are bound.
  void run_source_adjoint(const Tables& tables) { around_sources(tables, source_adjoint_); }
  /// The gather, and what walls add to it: derivatives with respect to wall values are left to WallAdjoint. Does
  /// nothing where nothing depends on anything.
  void run_gather(const Tables& tables) {
    if (gather_pass_) gather_pass_->run(tables);
    if (wall_gather_) wall_gather_->run(tables);
  }
  bool is_fed_by_walls() const { return wall_gather_.has_value(); }
  /// Whether the gather reads states at other cells than its own; where walls add to it, at ghosts. Once
  /// derive_adjoint() was called.
  bool gathers_states_beside() const { return gathers_states_beside_; }
  /// Whether its gather is a pass and what walls add to that, cell by cell: no wall value is differentiated, and no
  /// signal where there are sources.
  bool gathers_by_rows() const;
  /// How near a wall cells lie that walls add something to, along each axis.
  std::array<int, 3> fed_by_walls() const;
  /// What walls add to the gather in these cells (WallGather::run_in); where is_fed_by_walls().
  void add_from_walls(const Tables& tables, const Box& cells) const { wall_gather_->run_in(tables, cells); }
  /// What runs them, of a direction, for a walk over rows, without what is around sources and what walls add to
  /// gathers: null where nothing does, or more than that (wall values and sources that are differentiated).
  Pass* pass(Direction direction);
  /// Another pass of run_value()'s kernel, without what is around sources, for states that are bound when it runs.
  /// @param with_before the ghosts of the level before are filled too. Once prepared. Collective.
  Pass value_pass(const Grid& grid, bool with_before) const;
  /// A pass of another kernel, which reads the same states so many layers deep. Once prepared. Collective.
  Pass value_pass(const Grid& grid, const Kernel& kernel, const std::array<int, 3>& layers) const;
  /// Rows of a plane that each launch of a kernel computes beside its own, to fill buffers (row_buffers.hpp).
  int rows_beside(Direction direction) const;
  /// Values, or tangents, in a box around sources, whose arrays are filled.
  void run_at_sources(Direction direction, const Tables& tables, const Box& box) const {
    const Around& around = direction == Direction::forward ? value_at_sources_ : tangent_at_sources_;
    if (around.kernel) tables.launch(around.kernel, box);
  }
  /// What runs recorded values, as pass() does.
  Pass* recorded_pass() { return recorded_pass_ ? &*recorded_pass_ : nullptr; }

 private:
  /// A kernel, and the same as it is loaded.
  struct Around {
    KernelSpec spec;
    Kernel kernel = {};
  };
  void around_sources(const Tables& tables, const Around& around) const {
    if (!around.kernel) return;
    for (const Box& box : *boxes_) tables.launch(around.kernel, box);
  }
  const KernelSpec& main(Direction direction) const;
  void make_value_passes(const KernelContext& context);
  void make_tangent_pass(const KernelContext& context);
  void make_gather_pass(const KernelContext& context);
  void make_wall_gather(const KernelContext& context);
  /// The ghosts of the state as deep as `kernel` reads them.
  GhostGroup state_ghosts(const KernelContext& context, const KernelSpec& kernel) const;
  /// Ghosts as deep as the gather reads them in owned cells and in rings beyond walls.
  GhostGroup gather_ghosts(const std::vector<int>& symbols, const std::vector<FieldWalls>* walls) const;
  std::vector<int> symbols(const std::vector<std::string>& arrays) const;

  const Model& model_;
  const Active& active_;
  KernelRequest request_;
  KernelSpec value_, trail_, tangent_;
  GatherKernels gather_;
  std::optional<WallValues> walls_, dot_walls_;
  Kernel value_kernel_ = {};
  GhostGroup value_ghosts_;
  std::optional<Pass> value_pass_, trail_pass_, recorded_pass_, tangent_pass_, gather_pass_;
  std::optional<WallGather> wall_gather_;
  bool walls_change_ = false;  // with something active; once the adjoint is derived, as the next one
  bool gathers_states_beside_ = false;
  bool repeats_ = false;
  Around value_at_sources_, tangent_at_sources_, source_adjoint_;
  const std::vector<Box>* boxes_ = nullptr;
};

}  // namespace hindsight
