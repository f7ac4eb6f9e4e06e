// What is done with files by name. Tests put one in memory in its place, whose power fails.
#pragma once

#include <memory>
#include <string>

#include "io/files/raw_file.hpp"

namespace hindsight {

enum class OpenMode {
  read_only,
  existing,  ///< to read and write
  fresh,     ///< made, or emptied if it is there
};

/// Calls fail as those of the system do: -1 (null) and errno.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) = 0;
  /// `to` names either the old file or the new one at any time.
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int remove(const std::string& path) = 0;
  /// Names that were made, changed and removed in the folder that holds `path` have reached the device.
  virtual int flush_folder_of(const std::string& path) = 0;
};

/// That of the operating system.
class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int flush_folder_of(const std::string& path) override;
};

/// A small file appears under its name when it is whole and on the device, in place of what had the name.
/// @throws ResourceError
void write_text_file(FileSystem& files, const std::string& path, const std::string& text);

}  // namespace hindsight
