// Where the values, directions and derivatives of unknowns are in a simulation: one class per kind of unknown.
#pragma once

#include <memory>
#include <vector>

#include "adjoint/problem/discretisation.hpp"
#include "adjoint/problem/moving_cells.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Derivatives summed up on the host: one per active scalar, and one per knot of each active series. The same on all
/// ranks.
struct DerivativeSums {
  std::vector<double> scalars;
  std::vector<std::vector<double>> knots;
};

/// Symbols of the arrays of parameters that are fields.
struct ParameterSymbols {
  std::vector<int> fields;      ///< parallel to model.parameter_fields
  std::vector<int> bars, dots;  ///< derivatives by the active ones, and their directions
};

/// What unknowns are written to and read from.
struct ParameterMemory {
  Discretisation& problem;
  ParameterSymbols symbols;
  std::vector<Series> directions;  ///< of the active series
  /// Fills the ghosts of a parameter field, by its symbol.
  std::function<void(int symbol)> exchange;
};

/// Values are as in UnknownValues.
class UnknownPlace {
 public:
  explicit UnknownPlace(MovingCells moving = {}) : moving_(std::move(moving)) {}
  virtual ~UnknownPlace() = default;
  /// Which of the values are unknown. Derivatives by others are zero, and so are their directions, whatever is given.
  const MovingCells& moving() const { return moving_; }
  /// As the spec says them. The initial state is bound as what a step begins with.
  virtual std::vector<double> first_values() = 0;
  virtual void set(const std::vector<double>& values) = 0;
  /// @param direction must outlive the tangent sweep.
  virtual void set_direction(const std::vector<double>& direction) = 0;
  /// After a reverse sweep; the adjoint of the initial state is bound.
  virtual std::vector<double> derivative(const DerivativeSums& sums) const = 0;

 private:
  MovingCells moving_;
};

/// An unknown initial state of a field, or the rate that it begins with: of its cells, whatever expression the spec has
/// for it. Rates are the level before of the first state.
class InitialField final : public UnknownPlace {
 public:
  InitialField(ParameterMemory& memory, std::size_t field, bool is_rate, MovingCells moving)
      : UnknownPlace(std::move(moving)), memory_(memory), field_(field), is_rate_(is_rate) {}
  std::vector<double> first_values() override;
  void set(const std::vector<double>& values) override;
  void set_direction(const std::vector<double>& direction) override { direction_ = &direction; }
  std::vector<double> derivative(const DerivativeSums& sums) const override;
  /// Writes the values, once there are any, to the state that is bound; the direction to its direction.
  void write_values() const;
  void write_direction() const;

 private:
  CellArray cells(const LevelSymbols& symbols) const;

  ParameterMemory& memory_;
  std::size_t field_;
  bool is_rate_;
  Memory values_;  // owned cells
  const std::vector<double>* direction_ = nullptr;
};

/// A scalar, a series or a parameter field. @param moving of a field.
std::unique_ptr<UnknownPlace> make_parameter_place(const Unknown& unknown, ParameterMemory& memory, MovingCells moving);

/// The owned cells of a field without padding.
std::vector<double> unpadded(const Grid& grid, ConstCellArray cells);
/// Where a name stands; names.size() when it does not.
std::size_t place_of(const std::vector<std::string>& names, const std::string& name);

}  // namespace hindsight
