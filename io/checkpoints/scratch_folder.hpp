// The folder of checkpoint files.
#pragma once

#include <string>

#include "io/files/made_folder.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// Makes a folder, on every rank because it may lie on a node's own disk. What was made is removed at the end,
/// innermost first, unless something else is in it.
class ScratchFolder {
 public:
  /// Collective. @throws ResourceError when it cannot be made.
  ScratchFolder(const std::string& path, const Communicator& comm);
  const std::string& path() const { return folder_.path(); }

 private:
  MadeFolder folder_;
};

}  // namespace hindsight
