// What is done to cells between kernels, where the arrays are: copies, zeros, wall rules and their transposes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/element.hpp"
#include "runtime/machine.hpp"

namespace hindsight {

using Index3 = std::array<std::int64_t, 3>;

/// An array in a grid's layout, by its local cell (0,0,0), and its elements.
struct CellArray {
  explicit CellArray(double* at) : cell(at), element(Element::float64) {}
  CellArray(double* at, Element of) : cell(at), element(of) {}
  double* cell;
  Element element;
};

/// The same, to be read alone.
struct ConstCellArray {
  explicit ConstCellArray(const double* at) : cell(at), element(Element::float64) {}
  ConstCellArray(const double* at, Element of) : cell(at), element(of) {}
  ConstCellArray(CellArray cells) : cell(cells.cell), element(cells.element) {}
  const double* cell;
  Element element;
};

/// Of the element so far from cell (0,0,0), in memory of the host.
inline double value_at(ConstCellArray cells, std::int64_t place) {
  return cells.element == Element::float64 ? cells.cell[place]
                                           : static_cast<double>(reinterpret_cast<const float*>(cells.cell)[place]);
}

/// Cell (i,j,k), counted from 0, lies at first[strides[0]*i + strides[1]*j + strides[2]*k], in elements.
struct CellBlock {
  double* first = nullptr;
  Index3 strides{1, 1, 1};
  Element element = Element::float64;
};

/// What a ghost beyond a wall follows: in layer m (0 at the wall) it is sign * mirrored + factor_of(m) * E, where E is
/// what the wall gives; where the sign is 0, it is 0.
struct GhostRule {
  double sign = 0.0, factor = 0.0, growth = 0.0;
  double factor_of(std::int64_t layer) const { return factor * (1 + growth * static_cast<double>(layer)); }
};

/// The ghosts beyond one wall of one field, and what they follow from. Layer 0 lies at the wall; its cell (p,q),
/// counted from 0, is ghost[strides[0]*p + strides[1]*q], the one that it mirrors is mirror[...]. Further layers follow
/// at `step` from the ghosts and at -step from the mirrored cells.
struct WallGhosts {
  std::array<std::int64_t, 2> count{0, 0}, strides{1, 1};
  std::int64_t layers = 0, step = 1;
  double *ghost = nullptr, *mirror = nullptr;  ///< of `element`; all else are doubles
  GhostRule rule;
  const double* value = nullptr;  ///< E of (p,q) at value[p + wall_stride*q]; null: `constant`
  double constant = 0.0;
  double* bar = nullptr;  ///< transposed: what E's derivative adds to, as `value`; may be null
  std::int64_t wall_stride = 0;
  Element element = Element::float64;
};

class CellOperations {
 public:
  virtual ~CellOperations() = default;
  /// Both blocks lie on the machine and have no cell in common. Values become the elements of `to`.
  virtual void copy(const Index3& count, const CellBlock& from, const CellBlock& to) const = 0;
  virtual void zero(const Index3& count, const CellBlock& cells) const = 0;
  virtual void fill_wall(const WallGhosts& wall) const = 0;
  /// Adds each ghost to what it follows from, then clears it. Of doubles alone.
  virtual void transpose_wall(const WallGhosts& wall) const = 0;

  /// Whether all values are.
  virtual bool are_finite(const Index3& count, const CellBlock& cells) const = 0;
  /// The largest of values that are not negative; infinite where one is not finite.
  virtual double largest(const Index3& count, const CellBlock& cells) const = 0;
  /// Makes the memory that largest() takes.
  virtual void reserve_largest() const {}
  /// Cells one after another as doubles in memory of the host, the first axis fastest, and back.
  virtual void pack(const Index3& count, const CellBlock& cells, double* packed) const = 0;
  virtual void unpack(const Index3& count, const double* packed, const CellBlock& cells) const = 0;
  /// Of a block of cells that lie one after another.
  static CellBlock packed(const Index3& count, double* memory, Element element = Element::float64) {
    return {memory, {1, count[0], count[0] * count[1]}, element};
  }

  /// Makes the memory that gather() and add() need for as many places.
  virtual void reserve(std::int64_t places) const = 0;
  /// values[i] = field[places[i]], on the host.
  virtual void gather(const std::vector<std::int64_t>& places, ConstCellArray field, double* values) const = 0;
  /// field[places[i]] += values[i], one after another.
  virtual void add(const std::vector<std::int64_t>& places, const double* values, CellArray field) const = 0;

  /// Collective.
  static std::shared_ptr<const CellOperations> on(Machine& machine, const Communicator& comm);
};

/// What devices run for them.
device::ProgramText device_operations_program();

/// On machines that run programs (runtime/device_program.hpp). Collective.
std::shared_ptr<const CellOperations> device_operations(Machine& machine, const Communicator& comm);

}  // namespace hindsight
