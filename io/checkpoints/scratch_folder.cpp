#include "io/checkpoints/scratch_folder.hpp"

#include "runtime/error.hpp"

namespace hindsight {

ScratchFolder::ScratchFolder(const std::string& path, const Communicator& comm) : folder_(path) {
  comm.any(false);  // all ranks have looked before one makes it
  const std::error_code error = folder_.make();
  comm.agree(error ? "cannot create the folder '" + path + "': " + error.message() : "",
             static_cast<int>(ExitCode::resource));
}

}  // namespace hindsight
