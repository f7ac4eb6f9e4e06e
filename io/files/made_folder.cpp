#include "io/files/made_folder.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace hindsight {

namespace fs = std::filesystem;

MadeFolder::MadeFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  for (fs::path p = path_; !p.empty() && !fs::exists(p, error); p = p.parent_path()) missing_.push_back(p);
}

MadeFolder::~MadeFolder() {
  for (const std::string& folder : missing_) rmdir(folder.c_str());
}

std::error_code MadeFolder::make() const {
  std::error_code error, unknown;
  fs::create_directories(path_, error);
  return fs::is_directory(path_, unknown) ? std::error_code() : error;
}

}  // namespace hindsight
