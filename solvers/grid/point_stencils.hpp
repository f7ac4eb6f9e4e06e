// Points between cell centres: the cells around them, and the weights by which values there follow from cells, and what
// happens there is spread over cells. One is the transpose of the other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/grid/grid.hpp"

namespace hindsight {

/// How cells around a point share in it, axis by axis.
struct PointWeights {
  enum class Kind {
    /// Linear between the two centres next to the point, beyond the outermost centre extrapolated.
    linear,
    /// A sinc of four cells to each side in a Kaiser window with b = 6.31 (Hicks 2002, Arbitrary source and receiver
    /// positioning in finite-difference schemes using Kaiser windowed sinc functions), of which what lies beyond a wall
    /// is mirrored.
    sinc,
    /// The mean over a box around the point: each cell by how much of it lies in the box, of which what lies beyond a
    /// wall is cut off.
    box,
    /// The mean by a normal distribution around the point: each cell by the integral over it, up to four standard
    /// deviations from the point and not beyond walls.
    gaussian
  };
  Kind kind = Kind::linear;
  /// Widths of a box, standard deviations; axes where it is 0 are as with linear.
  std::array<double, 3> size{0, 0, 0};
  bool operator==(const PointWeights&) const = default;
  static const PointWeights linear, sinc;
};
inline constexpr PointWeights PointWeights::linear{Kind::linear, {0, 0, 0}};
inline constexpr PointWeights PointWeights::sinc{Kind::sinc, {0, 0, 0}};

/// The signs with which mirrored cells count, by axis and side: -1 where a field is zero on the wall, 1 where its slope
/// is.
using MirrorSigns = std::array<std::array<double, 2>, 3>;
inline constexpr MirrorSigns even_mirrors{{{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}};

class PointStencils {
 public:
  /// A cell of this rank. `slot` numbers the grid's rows that a point reads, in their order, on all ranks alike.
  struct Cell {
    std::int64_t cell = 0;  ///< from local cell (0,0,0) on
    double weight = 0.0;
    std::int64_t row = 0;  ///< local row (Grid::local_rows)
    std::int32_t slot = 0;
  };

  PointStencils() = default;
  /// @param points inside the grid, one coordinate per axis. Collective.
  PointStencils(const Grid& grid, const std::vector<std::array<double, 3>>& points, const PointWeights& weights,
                const MirrorSigns& mirrors = even_mirrors);

  std::size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }
  /// Those of this rank, row after row. An ODE's one cell belongs to all ranks.
  std::span<const Cell> cells(std::size_t point) const {
    return std::span(cells_).subspan(begin_[point], begin_[point + 1] - begin_[point]);
  }
  /// Whether cells lie on several ranks; the same on all of them.
  bool is_split(std::size_t point) const { return is_split_[point]; }
  /// Slots of a point, at most.
  int slots() const { return slots_; }
  std::int64_t bytes() const;

 private:
  void add(const Grid& grid, const std::array<double, 3>& point, const PointWeights& weights,
           const MirrorSigns& mirrors);

  std::vector<std::size_t> begin_;
  std::vector<Cell> cells_;
  std::vector<bool> is_split_;
  int slots_ = 1;
};

}  // namespace hindsight
