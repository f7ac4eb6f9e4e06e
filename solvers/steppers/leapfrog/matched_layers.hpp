// The perfectly matched layers of a leapfrog method on one rank: their memories in the states, and their part of steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/leapfrog/layer_kernels.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// Memories lie in the states' blocks behind the fields, in the layers' cells alone. Everything that a step binds in
/// Tables for the evaluation of later steps (LeapfrogStep::later) is bound when these are called.
class MatchedLayers {
 public:
  /// All outlive it.
  MatchedLayers(const Model& model, const Active& active, const LeapfrogKernels& scheme, const Derivatives& wanted);

  bool are_any() const { return !layers_.empty(); }
  /// Whether find_speeds() has any to find: the case does not name it.
  bool have_speeds_to_find() const;
  std::array<int, 3> halo() const;
  /// How far steps read, to each side.
  std::array<int, 3> reads() const;
  std::vector<Stepper::Described> describe() const;
  std::vector<const KernelLibrary*> libraries() const;

  /// Adds the memories to the arrays of a state.
  void add_arrays(StateShape& shape, const Grid& grid) const;
  /// Compiles and allocates. @param shape with these arrays. @param knots of each active series. Collective.
  void prepare(const StateShape& shape, Tables& tables, const std::vector<std::size_t>& knots);
  /// Fixes the speeds that were not given, with the present parameters. @param state to work in. Collective.
  void find_speeds(Tables& tables, double* state);
  /// Nothing has been there before.
  void clear_memories(const Grid& grid, double* state) const;

  // See Stepper.
  StateShape left_behind(const Grid& grid) const;
  void prepare_left_behind(const Grid& grid);
  void leave_behind(double* memory) { left_ = memory; }

  /// After the fields of `next` are there without the layers, and the ghosts of those of u.
  void step(Tables& tables, double* u, double* next) const;
  /// The same in these cells alone; nothing is left behind.
  void step_in(Tables& tables, double* u, double* next, const Box& cells) const;
  void tangent(Tables& tables, double* u, double* du, double* dnext) const;
  /// After the fields before a step are there as if there were no layers.
  void retreat(Tables& tables) const;
  /// After the adjoints of the fields in `lambda_next` are there without the layers. @param places of the evaluation's
  /// time in the active series.
  void reverse(Tables& tables, double* u, double* lambda, double* lambda_next,
               const std::vector<Series::Place>& places);

  // Of what walls sum up beside the layers: see Stepper.
  void clear_sums();
  void save_sums(BlockWriter& to) const;
  void restore_sums(BlockReader& from);
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const;

 private:
  /// Symbols of the memories.
  struct Symbols {
    std::vector<int> now, next, direction, next_direction, lambda, lambda_next;
    std::vector<int> left;  ///< of what is left behind
  };
  struct Layer {
    Layer(const Model& model, const Active& active, const LeapfrogKernels& scheme, std::size_t layer,
          const Derivatives& wanted);
    const MatchedLayer& layer;
    LayerKernels kernels;
    std::vector<KernelSpec> specs;  ///< of values, then of what is wanted of tangents and adjoints, then of speeds
    Symbols symbols;
    int damping = 0, shift = 0;
    std::vector<KernelSpec> specs_of_left;  ///< what writes it, walks back by it, and the adjoint where one is wanted
    KernelLibrary library = {}, library_of_left = {};
    Kernel value = {}, tangent = {}, adjoint = {}, speed = {};
    Box box = {};                            ///< of this rank's cells, local
    std::vector<std::int64_t> origins = {};  ///< of the memories in a block, as if they reached local cell (0,0,0)
    std::vector<std::int64_t> origins_of_left = {};  ///< the same in what is left behind
  };
  /// The layers along an axis, whose roots are gathered together.
  struct Axis {
    std::vector<std::size_t> layers;
    std::unique_ptr<KernelSet> roots;  ///< null without adjoints
    std::vector<int> multipliers;      ///< symbols
  };
  std::vector<Box> around(const Axis& axis, const Grid& grid) const;
  static void require_speed(double speed, const MatchedLayer& layer, const Grid& grid);
  static Box box_of(const MatchedLayer& layer, const Grid& grid);
  void place(Layer& layer, std::size_t first_array, const StateShape& shape, Tables& tables);
  static std::int64_t origin_in(const Layer& layer, const StateArray& array);
  void bind(Tables& tables, const std::vector<std::int64_t>& origins, const std::vector<int>& symbols,
            double* block) const;

  const Model& model_;
  Derivatives wanted_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Axis> axes_;
  double* left_ = nullptr;  // of the step at work
};

}  // namespace hindsight
