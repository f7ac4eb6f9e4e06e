// A file as the operating system sees it. Tests put faulty ones in its place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace hindsight {

/// Calls fail as those of the system do: -1 and errno. Several threads may call at once.
class RawFile {
 public:
  virtual ~RawFile() = default;
  /// @returns bytes moved, perhaps fewer than asked for.
  virtual ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) = 0;
  virtual ssize_t read(void* to, std::size_t bytes, std::int64_t offset) = 0;
  /// Makes sure that these bytes have a place on the device.
  virtual int reserve(std::int64_t offset, std::int64_t bytes) = 0;
  /// What was written, and the size, have reached the device.
  virtual int flush() = 0;
  /// Bytes in the file.
  virtual std::int64_t size() = 0;
  /// Whether transfers go past the page cache; they need memory, sizes and offsets in multiples of 4 KiB then.
  virtual bool is_direct() const = 0;
};

/// @param direct past the page cache if the file system allows it. @returns null, and errno, when it cannot be opened.
using OpenRawFile = std::function<std::unique_ptr<RawFile>(const std::string& path, bool direct)>;
std::unique_ptr<RawFile> open_raw_file(const std::string& path, bool direct);

/// The calls repeated until all bytes have moved. @returns false, and errno: ENODATA where the file ends too early.
bool write_whole(RawFile& file, const void* from, std::int64_t bytes, std::int64_t offset);
bool read_whole(RawFile& file, void* to, std::int64_t bytes, std::int64_t offset);

}  // namespace hindsight
