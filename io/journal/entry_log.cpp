#include "io/journal/entry_log.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "adjoint/store/packed_state.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

using Head = std::array<std::uint64_t, 2>;  // bytes, checksum
constexpr auto head_bytes = static_cast<std::int64_t>(sizeof(Head));

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ResourceError("cannot " + what + " '" + path + "': " + std::strerror(errno));
}

}  // namespace

EntryLog EntryLog::create(FileSystem& files, const std::string& path) {
  std::unique_ptr<RawFile> file = files.open(path, OpenMode::fresh);
  if (!file) fail("create", path);
  if (file->flush() != 0 || files.flush_folder_of(path) != 0) fail("flush", path);
  return {path, std::move(file), 0};
}

EntryLog EntryLog::open(FileSystem& files, const std::string& path, std::int64_t end, OpenMode mode) {
  std::unique_ptr<RawFile> file = files.open(path, mode);
  if (!file) fail("open", path);
  if (end < 0) end = file->size();
  if (file->size() < end) throw ResourceError("'" + path + "' is shorter than the journal says");
  return {path, std::move(file), end};
}

void EntryLog::append(ByteView entry) {
  const auto bytes = static_cast<std::int64_t>(entry.size());
  const Head head{entry.size(), crc32c(entry.data(), bytes)};
  is_flushed_ = false;
  if (!write_whole(*file_, head.data(), head_bytes, end_) ||
      !write_whole(*file_, entry.data(), bytes, end_ + head_bytes))
    fail("write", path_);
  end_ += head_bytes + bytes;
}

Bytes EntryLog::read(std::int64_t& at) const {
  Head head{};
  const auto damaged = [&] { return ResourceError("'" + path_ + "' is damaged at byte " + std::to_string(at)); };
  if (at < 0 || at + head_bytes > end_) throw damaged();
  if (!read_whole(*file_, head.data(), head_bytes, at)) fail("read", path_);
  const auto bytes = static_cast<std::int64_t>(head[0]);
  if (bytes < 0 || bytes > end_ - at - head_bytes) throw damaged();
  Bytes entry(head[0]);
  if (!read_whole(*file_, entry.data(), bytes, at + head_bytes)) fail("read", path_);
  if (crc32c(entry.data(), bytes) != head[1]) throw damaged();
  at += head_bytes + bytes;
  return entry;
}

void EntryLog::flush() {
  if (!is_flushed_ && file_->flush() != 0) fail("flush", path_);
  is_flushed_ = true;
}

}  // namespace hindsight
