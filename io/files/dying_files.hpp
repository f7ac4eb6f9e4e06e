// Files whose process dies at a chosen call: for tests of what a killed run leaves behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/files/file_system.hpp"

namespace hindsight {

/// Counts the calls that change something: makes a file, writes, flushes, renames, removes. In the chosen one the
/// process ends itself by SIGKILL: a write is half done then, anything else not at all. One thread at a time.
class DyingFiles final : public FileSystem {
 public:
  /// @param call from 1.
  DyingFiles(std::unique_ptr<FileSystem> files, std::int64_t call);
  std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int flush_folder_of(const std::string& path) override;

 private:
  std::unique_ptr<FileSystem> files_;
  std::shared_ptr<std::int64_t> calls_left_;  // shared with the files
};

}  // namespace hindsight
