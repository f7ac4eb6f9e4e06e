// Derivatives of wall values with respect to unknown scalars and series.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Per wall whose value E depends on an unknown p: Ebar is left by the transposed wall rule (boundary.hpp); after each
/// stage share * Ebar * dE/dp is added cell by cell to an array of the wall's layout, and Ebar is cleared. At the end
/// the arrays are added in global order.
class WallAdjoint {
 public:
  /// A stage (StageNames) whose wall values are differentiated, what they read of active series, and the layers of
  /// ghosts that feed back through walls (ring_depth()).
  struct Stage {
    int number;
    std::vector<SeriesVariable> series;
    std::array<int, 3> depth;
  };
  /// @param share see above; invalid: 1. @param prefix distinguishes the symbols of this set. Adds its kernels to
  /// `kernels`.
  WallAdjoint(const Model& model, const Active& active, const std::vector<Stage>& stages, Expr share,
              const std::string& prefix, std::vector<KernelSpec>& kernels);

  /// Allocates for a field's walls on this rank; returns where transposed rules of this stage put Ebar.
  /// `knots` is the number of knots of each active series.
  std::array<std::array<double*, 2>, 3> prepare(std::size_t field, const KernelLibrary& library,
                                                const std::vector<std::size_t>& knots, Tables& tables);
  /// @param places of this stage's time in the active series (unused without any).
  void accumulate(Tables& tables, int stage, const std::vector<Series::Place>& places);
  void clear();
  /// Adds to scalars[p] and knots[q][k]. Collective.
  void add_sums(const Grid& grid, std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const;
  void save(BlockWriter& to, const Grid& grid) const;
  void restore(BlockReader& from, const Grid& grid);

 private:
  struct Face {
    std::size_t field;
    int axis, side, bar_symbol;
    bool is_prepared = false;  // on all ranks: something feeds back through it
    Memory bar;
    std::vector<int> scalar_symbols;                 // one per active scalar
    std::vector<std::array<int, 2>> series_symbols;  // one per active series: lower and upper knot
    std::vector<Memory> scalar_sums, knot_sums;      // knots follow each other
    Memory unused_knot;
  };
  struct Task {
    std::size_t face;
    int stage;
    std::size_t kernel;
  };
  Face named_face(std::size_t field, int axis, int side, const std::string& prefix) const;
  KernelSpec derivative(const Face& face, const Stage& stage, Expr share) const;
  void bind_knots(Tables& tables, Face& face, const std::vector<Series::Place>& places) const;
  /// A wall of the whole grid with the ghosts that rules reach: along axes p and q.
  struct Extent {
    std::size_t p, q;
    std::int64_t width, height;
    std::int64_t size() const { return width * height; }
  };
  Extent extent(const Grid& grid, const Face& face) const;
  /// Sets of sums that are added up in one reduction.
  static std::size_t sets_at_once(const Extent& extent, std::size_t sets);
  void make_scratch(const Grid& grid, const Face& face);
  std::vector<double> totals(const Grid& grid, const Face& face, const std::vector<const double*>& sets) const;

  const Model& model_;
  const Active& active_;
  // The deepest of all stages: sums have so many summands, whatever room for ghosts a grid has.
  std::array<int, 3> depth_{0, 0, 0};
  std::vector<Face> faces_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> knots_;
  static constexpr std::int64_t scratch_doubles = std::int64_t{1} << 16;  // unless one set takes more
  Memory scratch_;
  const KernelLibrary* library_ = nullptr;
};

}  // namespace hindsight
