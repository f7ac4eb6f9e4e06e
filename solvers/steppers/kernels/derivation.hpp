// From expressions to the kernels of their values and of their derivatives, as graphs: before anything is compiled.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"

namespace hindsight {

/// What an evaluation reads of series.
enum class SeriesReads { values, values_and_rates };

/// An active series, or its change per time, as kernels read it at one evaluation.
struct SeriesVariable {
  std::size_t series = 0;              ///< of the active ones
  bool is_rate = false;                ///< it is the change per time
  std::string name;                    ///< of the scalar that holds it: "q@1"
  std::array<std::string, 2> weights;  ///< of the scalars that hold the shares of the knots on both sides
  int first_sum = 0;                   ///< of the two sums (Tables) of the derivatives with respect to these knots
};
/// The active series at an evaluation (StageNames), and behind them their rates if these are read; two sums each from
/// `first_sum` on.
std::vector<SeriesVariable> series_variables(const Active& active, int stage, int first_sum,
                                             SeriesReads reads = SeriesReads::values);

/// What becomes of what is found at a cell. All of it is linear in that, so that derivatives go the way of values.
struct Epilogue {
  using Put = std::function<void(KernelSpec& kernel, const std::vector<Expr>& found)>;
  using Outputs = std::function<std::vector<KernelSpec::Output>(std::size_t field, Expr found)>;
  Put values;      ///< puts the values of the expressions into outputs or sums
  Put tangents;    ///< does so with their tangents
  Outputs gather;  ///< where the gather of a field of the state goes; where to none, walls add nothing either
  Outputs add;     ///< how what comes through walls is added to these outputs
  Outputs gather_before = {};  ///< where the gather of a field of the level before goes, if it is read
};

struct KernelNames {
  std::string value, tangent, gather, border, ring, add, trail = {};  ///< each ring's says its side, too: "ring_x0"
};

/// Who fills the ghosts of the state that derivatives read.
enum class StateGhosts {
  recorded,       ///< the evaluation that is recorded, for all that differentiate it later
  at_every_pass,  ///< each pass those that it reads
};

/// Expressions to be evaluated and differentiated at every cell. They are differentiated for the state, for the active
/// scalars and parameter fields, which keep their names, and for series.
struct KernelRequest {
  KernelNames names;
  int stage = 0;                    ///< the evaluation (StageNames) whose wall values the state has
  std::vector<Expr> expressions;    ///< with the names of that evaluation
  std::vector<std::string> states;  ///< the arrays that they read, one per field of the model
  /// The last of the states, which are differentiated for their walls' values alone: they are gathered to nothing, and
  /// their directions, where walls have any (differentiated_states()), are zero but in ghosts.
  std::size_t held = 0;
  /// Those of the level before, one per field, which they read in the cell itself alone; none: they do not.
  std::vector<std::string> before = {};
  std::vector<SeriesVariable> series;          ///< what they read of active series
  std::vector<std::string> multiplier_arrays;  ///< that multipliers read: zero beyond walls. None: all are scalars
  std::function<Expr(std::size_t expression)> multiplier;  ///< asked for when the adjoint is derived
  Expr share = {};  ///< by which derivatives with respect to parameters and wall values are multiplied; invalid: 1
  Epilogue epilogue;
  StateGhosts ghosts = StateGhosts::recorded;
  /// The same expressions as they are around sources (PointSources), and the arrays that sources are in; none: there
  /// are none.
  std::vector<Expr> at_sources = {};
  std::vector<std::string> source_arrays = {};
  /// Values are the states of the next step, and gathers the adjoints of the one before, in the order of the states, so
  /// that kernels can take several steps in a launch (KernelSpec::Repeats). Not where active series are read, whose
  /// sums may be one.
  bool repeats = false;
};

/// Kernels of the transposed derivative (derive.hpp): they write gathers, add to the arrays of parameter fields'
/// derivatives and to sums. rings and add exist where the expressions read across walls (WallGather); border takes the
/// place of main near walls where derivatives may be not finite in ghost cells, which the multiplier's zeros there do
/// not undo. A kernel that does not exist has neither outputs nor sums.
struct GatherKernels {
  /// Of the ghosts beyond a side: the gather of what is read from there, inwards.
  struct Ring {
    Side side;
    KernelSpec spec;
  };
  KernelSpec main, border, add;
  std::vector<Ring> rings;  ///< of sides beyond which there is something to gather; all write the same arrays

  std::vector<const KernelSpec*> all() const;
  /// What they read of fields (of all, and of coordinates, when empty): so many ghosts beside owned cells, for those
  /// in rings too.
  Reach reach(const std::vector<int>& symbols, const std::array<int, 3>& ring_depth) const;
};

/// The request as it is around sources, for values and tangents.
KernelRequest request_at_sources(const KernelRequest& request);
/// Writes derivatives by the sources' arrays to arrays of their own (StageNames::bar).
KernelSpec source_adjoint_kernel(const Model& model, const KernelRequest& request);

KernelSpec value_kernel(const KernelRequest& request);
/// The same, which leaves the states that it begins with in the trail; empty where it does not repeat.
KernelSpec trail_kernel(const KernelRequest& request);
KernelSpec tangent_kernel(const Model& model, const Active& active, const KernelRequest& request);
GatherKernels gather_kernels(const Model& model, const Active& active, const KernelRequest& request);

/// Directions of what the value of a wall depends on.
std::vector<Seed> wall_seeds(const Active& active, const KernelRequest& request);
/// Whether the value of a wall of one of these states depends on anything active.
bool walls_change(const Model& model, const Active& active, const KernelRequest& request, std::size_t from,
                  std::size_t to);
/// How many of the states, from the first on, directions and gathers are derived for: those that are not held, or all
/// where walls of held ones depend on something active.
std::size_t differentiated_states(const Model& model, const Active& active, const KernelRequest& request);

/// Whether expressions read ghosts beyond walls.
bool cross_walls(const Model& model, const std::vector<Expr>& expressions);

}  // namespace hindsight
