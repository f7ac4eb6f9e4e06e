// A folder that is there while it is needed.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace hindsight {

/// Remembers which folders of a path were missing. Those that were made are removed at the end, innermost first, unless
/// something is in them.
class MadeFolder {
 public:
  explicit MadeFolder(std::string path);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  const std::string& path() const { return path_; }
  /// @returns why the folder is not there; nothing: it is.
  std::error_code make() const;

 private:
  std::string path_;
  std::vector<std::string> missing_;
};

}  // namespace hindsight
