// Compiled kernels, kept between runs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace hindsight {

/// A folder of the user's: $HINDSIGHT_CACHE, else $XDG_CACHE_HOME/hindsight, ~/.cache/hindsight, or
/// /tmp/hindsight-UID without a home. It must belong to the user and be writable by nobody else.
///
/// An entry is written under a temporary name and renamed, so that concurrent processes see all of it or nothing; its
/// source is compared and its checksum taken before it is used.
class KernelCache {
 public:
  static std::string folder();

  /// @throws ResourceError when there is no folder that can be used.
  /// @param key of all that matters but the source: flags, processor.
  /// @param source_suffix, object_suffix ".c", ".so".
  KernelCache(const std::string& key, const std::string& source, std::string source_suffix, std::string object_suffix);

  /// The object, when it is there and whole.
  std::optional<std::filesystem::path> find() const;
  /// Waits while another process makes it, as one of many that start at once would. Where the file system has no locks,
  /// each makes its own.
  class Turn {
   public:
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    friend KernelCache;
    explicit Turn(std::string path);
    std::string path_;
    int file_;
  };
  /// @throws Stopped
  Turn turn() const { return Turn(base_ + ".turn"); }
  /// Makes it anew. @param build makes an object's file of a source's file.
  std::filesystem::path make(
      const std::function<void(const std::filesystem::path& source, const std::filesystem::path& object)>& build) const;

 private:
  std::string source_, source_suffix_, object_suffix_, base_;
};

/// 32 hexadecimal digits.
std::string hash_text(const std::string& text);
std::string read_bytes(const std::filesystem::path& path);
/// @throws ResourceError when it is not written whole.
void write_bytes(const std::filesystem::path& path, const std::string& bytes);

}  // namespace hindsight
