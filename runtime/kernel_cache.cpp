#include "runtime/kernel_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/environment.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

/// Creates the folder when missing; refuses one that others could have put code into.
fs::path open_cache() {
  const fs::path folder = KernelCache::folder();
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw ResourceError("cannot create the kernel cache " + folder.string() +
                        "; set HINDSIGHT_CACHE to another folder");
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw ResourceError("the kernel cache " + folder.string() + " is not a folder");
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw ResourceError("the kernel cache " + folder.string() +
                        " must belong to you and be writable by nobody else (chmod 700); or set HINDSIGHT_CACHE");
  return folder;
}

}  // namespace

std::string hash_text(const std::string& text) {
  const XXH128_hash_t value = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", value.high64, value.low64);
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "";
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file)
    throw ResourceError("cannot write " + path.string() + " (disk full?); set HINDSIGHT_CACHE to another folder");
}

std::string KernelCache::folder() {
  if (const std::string chosen = environment("HINDSIGHT_CACHE"); !chosen.empty()) return chosen;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/hindsight";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/hindsight";
  return fmt::format("/tmp/hindsight-{}", geteuid());
}

KernelCache::KernelCache(const std::string& key, const std::string& source, std::string source_suffix,
                         std::string object_suffix)
    : source_(source),
      source_suffix_(std::move(source_suffix)),
      object_suffix_(std::move(object_suffix)),
      base_(open_cache() / hash_text(key + "\n" + source)) {}

std::optional<fs::path> KernelCache::find() const {
  const fs::path object = base_ + object_suffix_;
  if (!fs::exists(object) || read_bytes(base_ + source_suffix_) != source_) return {};
  if (read_bytes(base_ + ".sum") != hash_text(read_bytes(object))) return {};
  return object;
}

KernelCache::Turn::Turn(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  constexpr useconds_t pause = 5000;
  constexpr double patience = 60.0;  // seconds: then it is made twice, and no more
  for (const Stopwatch waited; file_ >= 0 && waited.seconds() < patience && flock(file_, LOCK_EX | LOCK_NB) != 0 &&
                               (errno == EWOULDBLOCK || errno == EINTR);) {
    stop_if_asked();
    usleep(pause);
  }
}

/// Who waited finds the entry, or makes it; who comes from now on has a file of its own to wait for.
KernelCache::Turn::~Turn() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

fs::path KernelCache::make(const std::function<void(const fs::path& source, const fs::path& object)>& build) const {
  std::string scratch = base_ + ".XXXXXX";
  if (!mkdtemp(scratch.data()))
    throw ResourceError("cannot write into the kernel cache " + fs::path(base_).parent_path().string());
  const std::string made = scratch + "/kernel";
  std::error_code ignored;
  try {
    write_bytes(made + source_suffix_, source_);
    build(made + source_suffix_, made + object_suffix_);
    write_bytes(made + ".sum", hash_text(read_bytes(made + object_suffix_)));
    for (const std::string& part : {source_suffix_, std::string(".sum"), object_suffix_})
      fs::rename(made + part, base_ + part);
  } catch (...) {
    fs::remove_all(scratch, ignored);
    throw;
  }
  fs::remove_all(scratch, ignored);
  return base_ + object_suffix_;
}

}  // namespace hindsight
