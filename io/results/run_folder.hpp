// The folder that a run writes.
#pragma once

#include <string>
#include <vector>

#include "src/communicator.hpp"

namespace hindsight {

/// Files appear under their final names only when whole: each is written as NAME.partial, flushed, and renamed. Files
/// of an earlier run in the same folder are removed when the run starts.
class RunFolder {
 public:
  /// Creates the folder. Collective. @param inputs files that the run reads.
  /// @throws ResourceError when it cannot be written, InputError when one of `inputs` would be removed.
  RunFolder(std::string path, const Communicator& comm, const std::vector<std::string>& inputs = {});
  const std::string& path() const { return path_; }
  const Communicator& communicator() const { return comm_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string partial(const std::string& name) const { return file(name) + ".partial"; }
  /// Rank 0 writes a small text file. Collective.
  void write_text(const std::string& name, const std::string& text) const;
  /// Rank 0 flushes NAME.partial and gives it its final name. Collective.
  void publish(const std::string& name) const;

 private:
  std::string path_;
  Communicator comm_;
};

}  // namespace hindsight
