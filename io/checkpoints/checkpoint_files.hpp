// The disk tier's files in a folder, one per rank; and memory in place of them, for tests and benchmarks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "adjoint/store/disk_space.hpp"
#include "io/checkpoints/scratch_folder.hpp"
#include "io/files/raw_file.hpp"

namespace hindsight {

/// Where a disk tier's bytes go; the rest is for tests and benchmarks.
struct DiskOptions {
  std::string scratch = ".";                               ///< folder of checkpoint files
  std::optional<std::pair<double, double>> emulated = {};  ///< memory in place of a disk: seconds per write, per read
  std::optional<std::pair<double, double>> slowed = {};    ///< a disk slowed down to as many seconds
  bool direct = true;                                      ///< past the page cache where the file system allows it
  OpenRawFile open_file = open_raw_file;
  std::string tag = {};  ///< in the names of checkpoint files; empty: a new one
  bool keeps = false;    ///< files stay, for a process that goes on
  bool reopens = false;  ///< the first file opened is that of the process before, if it is as it should be
};

class CheckpointFiles final : public DiskSpace {
 public:
  /// Collective.
  CheckpointFiles(DiskOptions options, const Communicator& comm);
  /// Makes the folder, unless it is there.
  void prepare() override;
  std::unique_ptr<Medium> make(const DiskRequest& request) override;
  void remove() override;

 private:
  std::string file() const;

  DiskOptions options_;
  Communicator comm_;
  std::string tag_;  // of this object in the names of files
  std::unique_ptr<ScratchFolder> folder_;
};

}  // namespace hindsight
