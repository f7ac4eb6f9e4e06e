// Sources at points: what they give to the cells around them at a time, and what of the adjoint falls on their signals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/kernels/series_data.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// A place of a source, and by what its series is multiplied there.
struct SourcePoint {
  std::array<double, 3> at{0, 0, 0};
  double factor = 1.0;
  bool operator==(const SourcePoint&) const = default;
};
/// Parallel to Model::sources.
using SourcePoints = std::vector<std::vector<SourcePoint>>;

/// Kernels of evaluations that sources act on exist twice: as they are for most cells, and, for the few cells around
/// sources, with an array added to the right-hand side of each field that has some (array()). That array holds numbers
/// there alone. Work and memory grow with the points, but for one array per such field.
class PointSources {
 public:
  /// @param model, active outlive it.
  PointSources(const Model& model, const Active& active);

  bool are_any() const { return !model_.sources.empty(); }
  static std::string array(const std::string& field) { return "source(" + field + ")"; }
  /// Right-hand sides with the arrays added.
  std::vector<Expr> added_to(const std::vector<Expr>& right_hand_sides) const;
  /// The arrays, one per field that has sources.
  const std::vector<std::string>& arrays() const { return arrays_; }

  /// Allocates. Collective.
  void prepare(const Grid& grid, Tables& tables, const SeriesData& series, bool with_adjoint);
  /// Takes where they are. Collective.
  void set_points(const SourcePoints& points);
  /// The cells around sources, row by row, sorted by the last axis and then by the one before, if there are two or
  /// more.
  const std::vector<Box>& rows() const { return boxes_; }
  /// Those that have a range of rows (planes in 3D) in common with a box.
  std::span<const Box> rows_in(const Box& cells) const;

  /// The arrays hold what sources give at a time from now on; their directions what directions of series give.
  void fill(Tables& tables, const SeriesData& series, double t) { fill(tables, rows_, series.values(), false, t); }
  /// The same around sources in these rows (planes in 3D).
  void fill_in(Tables& tables, const SeriesData& series, double t, const Box& cells) {
    fill(tables, shares_in(cells), series.values(), false, t);
  }
  void fill_directions(Tables& tables, const SeriesData& series, double t) {
    fill(tables, rows_, series.directions(), true, t);
  }
  void fill_directions_in(Tables& tables, const SeriesData& series, double t, const Box& cells) {
    fill(tables, shares_in(cells), series.directions(), true, t);
  }
  /// Takes in the derivatives by the arrays, which are in arrays of their own (StageNames::bar) around sources.
  void add_adjoint(Tables& tables, const SeriesData& series, double t);

  // Of the derivatives with respect to knots of active series: see Stepper.
  void clear_sums();
  void save_sums(BlockWriter& to) const;
  void restore_sums(BlockReader& from);
  void add_sums(std::vector<std::vector<double>>& knots) const;

 private:
  /// A share of a source in one cell of a row.
  struct Share {
    std::size_t source = 0;
    std::size_t cell = 0;  ///< from the row's first one on
    double weight = 0.0;   ///< factor and cell volume included
  };
  struct Row {
    std::size_t array = 0;
    Box box;
    std::int64_t row = 0;  ///< local row of sums
    std::vector<Share> shares;
  };
  MirrorSigns mirrors_of(std::size_t field) const;
  void fill(Tables& tables, std::span<const Row> rows, const std::vector<Series>& all, bool are_directions, double t);
  std::span<const Row> shares_in(const Box& cells) const;
  void clear_rows();
  double* cells(Tables& tables, int symbol, const Row& row) const;

  const Model& model_;
  const Active& active_;
  std::vector<std::string> arrays_;
  std::vector<std::size_t> array_of_;      // of each source
  std::vector<std::ptrdiff_t> active_of_;  // of each source, its series among the active ones; or -1
  std::vector<int> symbols_, direction_symbols_, bar_symbols_;  // of arrays
  const Grid* grid_ = nullptr;
  Tables* tables_ = nullptr;
  std::vector<Row> rows_;
  std::vector<Box> boxes_;
  std::vector<double> at_work_;
  std::vector<Memory> sums_;  // per active series, on the host: knots x local rows; empty where no source has it
};

}  // namespace hindsight
