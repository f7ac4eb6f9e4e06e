// What one rank holds of a distributed run, written so that any number of ranks can read it back, bit for bit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/archive.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// Arrays over the grid are written with the global box that they cover, the fastest axis first; everything else is
/// the same on all ranks. All ranks write the same sequence; who has no part of an array writes an empty box.
class BlockWriter {
 public:
  /// Begins with the box that this rank owns.
  BlockWriter(ArchiveWriter& to, const Grid& grid);
  /// For values that are the same on every rank.
  ArchiveWriter& archive() { return to_; }
  /// Owned cells of a padded field, as doubles.
  void cells(ConstCellArray cells);
  /// One value per local row (Grid), `sets` times, one after the other.
  void rows(const double* values, std::int64_t sets = 1);
  /// @param box in global indices, which may lie outside the grid. @param values of all its cells.
  void block(const Box& box, std::span<const double> values);

 private:
  ArchiveWriter& to_;
  const Grid& grid_;
  std::vector<double> packed_;
};

/// Reads, in the order of writing, what the ranks of an earlier process wrote, as many or others.
class BlockReader {
 public:
  /// @param parts of all earlier ranks, or of those that own_any() of this rank's cells; must outlive this.
  BlockReader(std::vector<ArchiveReader*> parts, const Grid& grid);
  /// Whether what a rank wrote has anything for this one.
  static bool owns_any(ArchiveReader part, const Grid& grid);

  /// A value that is the same on all ranks.
  template <class T>
  T get() {
    T first{};
    read(first);
    return first;
  }
  template <class T>
  void read(T& value) {
    for (std::size_t i = parts_.size(); i-- > 0;) parts_[i]->read(value);
  }
  /// What each of the parts has.
  template <class T>
  std::vector<T> all() {
    std::vector<T> values(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->read(values[i]);
    return values;
  }
  void begin(std::string_view name) {
    for (ArchiveReader* part : parts_) part->begin(name);
  }
  void end() {
    for (ArchiveReader* part : parts_) part->end();
  }
  void cells(CellArray cells);
  void rows(double* values, std::int64_t sets = 1);
  /// Fills the box, which may be empty, as far as it was written. @throws ResourceError when cells are missing.
  void block(const Box& box, std::span<double> values);
  /// As many ranks, with the same boxes, as now.
  bool is_own() const { return is_own_; }

 private:
  std::vector<ArchiveReader*> parts_;
  const Grid& grid_;
  bool is_own_ = false;
  std::vector<double> packed_;
};

/// In global indices.
Box owned_box(const Grid& grid);

}  // namespace hindsight
