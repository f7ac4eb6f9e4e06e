#include "io/checkpoints/scratch_folder.hpp"

#include <unistd.h>

#include <filesystem>

#include "src/error.hpp"

namespace hindsight {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(std::string path, const Communicator& comm) : path_(std::move(path)) {
  std::error_code error;
  for (fs::path p = path_; !p.empty() && !fs::exists(p, error); p = p.parent_path()) made_.push_back(p);
  comm.any(false);  // all ranks have looked before one makes it
  fs::create_directories(path_, error);
  std::error_code unknown;
  const bool is_there = fs::is_directory(path_, unknown);
  comm.agree(is_there ? "" : "cannot create the folder '" + path_ + "': " + error.message(),
             static_cast<int>(ExitCode::resource));
}

ScratchFolder::~ScratchFolder() {
  for (const std::string& folder : made_) rmdir(folder.c_str());
}

}  // namespace hindsight
