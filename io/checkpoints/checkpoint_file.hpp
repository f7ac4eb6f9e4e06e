// The disk tier of one rank: an HDF5 file whose data go past HDF5, at the speed of the device.
//
//   /pages      numbers (bytes with a codec), one row per page: contiguous, allocated at once, never filled, aligned
//   /slots      per slot: step, time, first page, bytes, CRC32C, and the first page of the state to which the slot's is
//               a difference, or -1; step -1 marks a slot that was never used
//   /next_page  per page: the one that continues a slot, or -1; only where slots take several pages
//
// A slot's bytes are the owned cells of all arrays (attributes "fields" and "shape": how many, z, y, x; where arrays
// differ, a row for each: bytes of a number, z, y, x), encoded by the codec that the attribute names. HDF5 makes the
// file and closes it before the first transfer, so it can be opened after a kill at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/medium.hpp"
#include "io/files/raw_file.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

struct CheckpointFileSettings {
  std::string path;
  std::int64_t slots = 0, pages = 0, page_bytes = 0;  ///< pages of whole 4 KiB
  std::vector<std::string> fields;
  StateShape shape;
  std::string codec;                              ///< empty: none
  std::function<double(std::int64_t step)> time;  ///< of a state; any thread calls it
  bool direct = true;                             ///< past the page cache where the file system allows it
  OpenRawFile open = open_raw_file;
  bool keeps = false;    ///< the file stays when this is destroyed
  bool reopens = false;  ///< goes on with a file of an earlier process, with its pages, if it is as these settings say
};

/// In place of what has this name. Removes the file when destroyed, unless it keeps it.
class CheckpointFile final : public Medium {
 public:
  /// @throws ResourceError when it cannot be made; MediumError(is_full) when the device has not enough room.
  explicit CheckpointFile(CheckpointFileSettings settings);
  ~CheckpointFile() override;
  std::int64_t pages() const override { return settings_.pages; }
  std::int64_t page_bytes() const override { return settings_.page_bytes; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override;
  void read(std::int64_t offset, void* to, std::int64_t bytes) override;
  void label(std::int64_t slot, const SlotLabel& label) override;
  void link(std::int64_t page, std::int64_t next) override;
  void flush() override;
  double* memory() const override { return nullptr; }
  bool outlives_process() const override { return true; }
  std::string description() const override;

 private:
  void make_file();
  bool find_file();
  bool has_room() const;
  void put(std::int64_t offset, const void* from, std::size_t bytes);
  template <class Row>
  void fill(std::int64_t at, std::int64_t rows, const Row& row);
  [[noreturn]] void fail(const std::string& what, int error) const;

  CheckpointFileSettings settings_;
  std::int64_t pages_at_ = 0, slots_at_ = 0, links_at_ = -1;  // bytes from the file's begin
  std::unique_ptr<RawFile> data_, tables_;
};

}  // namespace hindsight
