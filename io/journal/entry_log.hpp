// A file that only grows: what one rank has worked out and need not work out again.
//
//   entries one after the other: bytes (8), their CRC32C (4), zero (4), the bytes
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/files/file_system.hpp"
#include "runtime/bytes.hpp"

namespace hindsight {

/// How far a log counts is said elsewhere, by who commits: what lies behind is of a process that died before it could
/// say so, and is overwritten. @throws ResourceError, naming the file.
class EntryLog {
 public:
  static EntryLog create(FileSystem& files, const std::string& path);
  /// @param end of what counts, as end() said; below 0: the whole file.
  static EntryLog open(FileSystem& files, const std::string& path, std::int64_t end, OpenMode mode);

  /// Where the next entry will begin.
  std::int64_t end() const { return end_; }
  void append(ByteView entry);
  /// The entry that begins at `at`, which moves behind it. @throws ResourceError when it is damaged.
  Bytes read(std::int64_t& at) const;
  /// What was appended has reached the device.
  void flush();

 private:
  EntryLog(std::string path, std::unique_ptr<RawFile> file, std::int64_t end)
      : path_(std::move(path)), file_(std::move(file)), end_(end) {}

  std::string path_;
  std::unique_ptr<RawFile> file_;
  std::int64_t end_ = 0;
  bool is_flushed_ = true;
};

}  // namespace hindsight
