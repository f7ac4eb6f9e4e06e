// Entries of logs that hold arrays over the grid, so that other ranks can read them back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/journal/entry_log.hpp"
#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// Writes entries of one rank and reads those that earlier ranks wrote together. One thread at a time.
class BlockEntries {
 public:
  /// Of the archives that logs and journals hold; a reader has to ask for the same.
  static constexpr std::uint64_t version = 1;

  /// @param grid must outlive this.
  explicit BlockEntries(const Grid& grid) : grid_(grid) {}
  const Grid& grid() const { return grid_; }
  /// Appends to a log what `write` writes. @returns the entry's place. @throws ResourceError
  std::int64_t append(EntryLog& log, const std::function<void(BlockWriter&)>& write);
  /// Lets `read` read one entry. @param parts as each of the earlier ranks has it that own cells of this rank.
  /// @param source is named in errors. @throws ResourceError when something else was written.
  void read(const std::vector<Bytes>& parts, const std::string& source,
            const std::function<void(BlockReader&)>& read) const;

 private:
  const Grid& grid_;
  ArchiveWriter entry_{version};
};

}  // namespace hindsight
