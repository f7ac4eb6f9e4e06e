#include "io/checkpoints/scratch_folder.hpp"

#include <filesystem>

#include "runtime/environment.hpp"
#include "runtime/error.hpp"

namespace hindsight {

std::string scratch_text(const std::string& said) {
  return begins_with_variable(said) ? said : std::filesystem::absolute(said).string();
}

std::string scratch_folder(const std::string& text) {
  const std::string folder = with_variables(text);
  if (begins_with_variable(text) && !std::filesystem::path(folder).is_absolute())
    throw InputError("'" + text + "' is '" + folder +
                     "' here: the folder of checkpoint files needs a path from the root");
  return folder;
}

ScratchFolder::ScratchFolder(const std::string& path, const Communicator& comm) : folder_(path) {
  comm.any(false);  // all ranks have looked before one makes it
  const std::error_code error = folder_.make();
  comm.agree(error ? "cannot create the folder '" + path + "': " + error.message() : "",
             static_cast<int>(ExitCode::resource));
}

}  // namespace hindsight
