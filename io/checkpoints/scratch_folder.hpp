// The folder of checkpoint files.
#pragma once

#include <string>
#include <vector>

#include "src/communicator.hpp"

namespace hindsight {

/// Makes a folder, on every rank because it may lie on a node's own disk. What was made is removed at the end,
/// innermost first, unless something else is in it.
class ScratchFolder {
 public:
  /// Collective. @throws ResourceError when it cannot be made.
  ScratchFolder(std::string path, const Communicator& comm);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::string> made_;
};

}  // namespace hindsight
