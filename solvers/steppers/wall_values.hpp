// The values E of all walls of a model's fields: evaluated by kernels, differentiated by kernels.
#pragma once

#include <string>
#include <vector>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

using WallExpressions = std::vector<std::array<std::array<Expr, 2>, 3>>;

/// The wall values of one stage ([field][axis][side]); their tangents when `seeds` are given.
WallExpressions wall_expressions(const Model& model, int stage, const std::vector<Seed>* seeds);

/// One set of wall values: those of one stage, or of a tangent.
class WallValues {
 public:
  /// @param values walls[field][axis][side] as expressions of scalars and coordinates (stage names already applied).
  /// @param prefix distinguishes the symbols of this set. Adds its kernels to `kernels`.
  WallValues(const Model& model, const WallExpressions& values, const std::string& prefix,
             std::vector<KernelSpec>& kernels);

  /// Allocates the arrays of the walls on this rank. `library` holds the kernels passed to the constructor.
  void prepare(const KernelLibrary& library, Tables& tables);
  /// Evaluates all walls with the present scalars.
  void evaluate(Tables& tables) const;
  /// As HaloExchange wants them, one per field.
  const std::vector<FieldWalls>& walls() const { return walls_; }
  /// Of the array of one of them; -1: it is a constant.
  int symbol(std::size_t field, int axis, int side) const;

 private:
  struct Face {
    std::size_t field;
    int axis, side;
    int symbol;
    std::size_t kernel;
    Memory memory;
  };
  const Model& model_;
  std::vector<Face> faces_;
  std::vector<FieldWalls> walls_;
  const KernelLibrary* library_ = nullptr;
};

/// Launches a kernel over one wall: its arrays have the wall's layout (boundary.hpp), its coordinate is the wall's.
void launch_on_wall(const Tables& tables, const Kernel& kernel, int axis, int side);

/// Walls that are all zero, or all mirrors (slope 0): for adjoint fields and for parameter fields.
std::vector<FieldWalls> plain_walls(std::size_t fields, WallRule rule);

}  // namespace hindsight
