// What kernels are launched with: arrays and numbers by symbol, and the memory that belongs to them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/grid/state_shape.hpp"
#include "solvers/steppers/noise_fields.hpp"

namespace hindsight {

/// Symbols of the fields of a state, by levels; those of a level that there is not are none.
struct LevelSymbols {
  std::vector<int> now, before = {};
};

/// The tables of one simulation on one rank. States are of the graph's elements (Graph::element()). Grows while it is
/// set up; nothing in it moves or grows while stepping.
class Tables {
 public:
  /// Allocates the arrays of random numbers, if there are any: then it is collective. @param graph, grid outlive it.
  Tables(const Graph& graph, const Grid& grid, int sums);

  const Grid& grid() const { return grid_; }
  /// Where the walls of an axis are: one coordinate.
  const double* wall_coordinate(int axis, int side) const { return axes_.data() + wall_places_ + 2 * axis + side; }
  /// Field symbols point to local cell (0,0,0); arrays are of the elements that the graph says (Graph::kind()).
  void bind(int symbol, double* cell) { fields_[static_cast<std::size_t>(symbol)] = cell; }
  /// An array of another kind (Graph::kind()), of whatever elements; the cell as if the array went so far.
  void bind_other(int symbol, void* cell) { bind(symbol, static_cast<double*>(cell)); }
  /// @returns the number of the layout of arrays with these strides, for Graph::set_kind(). Before kernels are
  /// compiled.
  int add_layout(ArrayStrides strides) {
    strides_.push_back(strides);
    return static_cast<int>(strides_.size()) - 1;
  }
  double* field(int symbol) const { return fields_[static_cast<std::size_t>(symbol)]; }
  /// The same with its elements, of an array in the grid's layout.
  CellArray cells(int symbol) const { return {field(symbol), graph_.kind(symbol).element}; }
  /// Takes an array in the grid's layout, with its ghosts, from the tables of the same graph on another machine.
  /// @param machine the one that is not the host, if one is.
  void copy_array(int symbol, const Tables& from, Machine& machine) const;
  double& scalar(int symbol) { return scalars_[static_cast<std::size_t>(symbol)]; }
  /// Accumulator of local row 0 of a sum.
  void bind_sum(int sum, double* rows) { sums_[static_cast<std::size_t>(sum)] = rows; }

  /// Allocates arrays in the grid's layout, one per symbol, zeroed, and binds them.
  void allocate(const std::vector<int>& symbols);
  /// The arrays of these random numbers (indices in Graph::noises()) hold those of this step from now on, in owned and
  /// ghost cells.
  void fill_noise(const std::vector<std::size_t>& which, std::int64_t step) {
    for (const std::size_t i : which) noise_->fill(i, step);
  }
  /// Bytes of what allocate() made.
  std::int64_t bytes() const { return bytes_; }
  /// Binds consecutive fields of a state (see Layout) to symbols.
  void bind_state(const std::vector<int>& symbols, double* state) {
    double* cell = at_element(state, grid_.layout().origin, element_);
    for (const int symbol : symbols) {
      bind(symbol, cell);
      cell = at_element(cell, grid_.layout().field_stride, element_);
    }
  }

  void bind_state(const LevelSymbols& symbols, StateBlocks state) {
    bind_state(symbols.now, state.now);
    if (state.before != nullptr) bind_state(symbols.before, state.before);
  }

  /// Runs a kernel on a box of the grid.
  void launch(const Kernel& kernel, const Box& box) const;
  /// The same on the host, of cells beyond the rank's own: what it adds to sums is lost.
  void launch_beyond(const Kernel& kernel, const Box& box) const;
  /// The arguments of a launch, of which those who have other memory layouts replace strides and coordinates.
  Launch launch_block(const Box& box) const;

 private:
  void place_coordinates();
  void place_walls();
  const Graph& graph_;
  const Grid& grid_;
  Element element_;  // of states
  std::vector<double*> fields_;
  std::vector<double> scalars_;
  std::vector<double*> sums_;
  std::vector<double> lost_;  // one, what launches beyond the rank's cells add up
  std::vector<double*> lost_sums_;
  std::vector<ArrayStrides> strides_;  // by layout
  Memory axes_;                        // coordinates where kernels read them, then those of walls
  std::int64_t wall_places_ = 0;
  std::array<const double*, 3> coordinates_{};
  std::array<std::int64_t, 4> within_walls_{};  // see Launch
  std::vector<Memory> owned_;
  std::unique_ptr<NoiseFields> noise_;
  std::int64_t bytes_ = 0;
};

/// Doubles that one state of `fields` fields takes, padding included.
std::int64_t state_doubles(const Grid& grid, std::size_t fields, Element element = Element::float64);

}  // namespace hindsight
