// The folder of checkpoint files.
#pragma once

#include <string>

#include "io/files/made_folder.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// What a case, or a command line, says of the folder, as other nodes and folders understand it: from the root, but
/// with $NAME as it stands.
std::string scratch_text(const std::string& said);
/// The folder that such a text means on this node. @throws InputError when a variable is not set, or does not lead to a
/// path from the root.
std::string scratch_folder(const std::string& text);

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
