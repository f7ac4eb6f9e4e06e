// The estimates that an inversion comes to: estimates.h5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/results/datasets.hpp"

namespace hindsight {

/// A dataset /NAME per unknown with an estimate a row, and /iterations. There is room for all estimates that can come
/// before the first does, and from then on bytes move into datasets and nothing else changes: estimates.h5.partial
/// opens whenever the process may have been killed, and rows that have not come have -1 in /iterations. A process that
/// goes on writes all of it again. Collective; errors on any rank end all (ResourceError).
class EstimatesFile {
 public:
  struct Unknown {
    std::string name;
    std::size_t numbers = 0;  ///< 0: a field of the grid
  };
  /// @param most estimates that can come, at least 1. @param folder @param grid must outlive this.
  EstimatesFile(const RunFolder& folder, const Grid& grid, std::vector<Unknown> unknowns, std::int64_t most);
  /// @param values of each unknown the owned cells, or its numbers, the same on every rank. @throws Error(bug) when
  /// there are `most` already.
  void write(std::int64_t iteration, const std::vector<std::vector<double>>& values);
  /// Of the last one; -1: none is written yet.
  std::int64_t last() const { return iterations_.empty() ? -1 : iterations_.back(); }
  /// Gives the file its name, and no row more than there are estimates.
  void finish();

 private:
  FieldFile made(const std::vector<std::int64_t>& iterations) const;
  FieldFile::Rows rows(const Unknown& unknown, std::int64_t count) const;
  void make_shorter();
  const RunFolder& folder_;
  const Grid& grid_;
  std::vector<Unknown> unknowns_;
  std::int64_t most_;
  std::vector<std::int64_t> iterations_;
  std::optional<FieldFile> file_;
};

}  // namespace hindsight
