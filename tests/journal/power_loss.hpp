// A file system in memory whose power fails: what was not flushed is lost in part, reordered and torn.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/files/file_system.hpp"
#include "runtime/bytes.hpp"

namespace hindsight::test {

struct PowerLoss : std::runtime_error {
  PowerLoss() : std::runtime_error("the power failed") {}
};

/// Everything that a device holds and what is on its way there. A write of some bytes to some place is pending until
/// its file is flushed, a change of a name until the folder is. At a power loss each sector of each pending write may
/// have arrived or not, in any order, one in eight of them torn; each change of a name may have arrived or not. What a
/// file was never told to hold, where a later sector made it longer, is random.
class Disk {
 public:
  static constexpr std::int64_t sector = 512;
  struct Write {
    std::int64_t offset;
    Bytes bytes;
  };
  struct Content {
    Bytes seen, durable;
    std::vector<Write> pending;
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;

  explicit Disk(std::uint64_t seed) : random_(seed) {}
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  /// The power fails at this call from now on, counted from 0, which is not done or half done.
  void fail_at(std::int64_t call) { calls_left_ = call; }
  /// Every call that changes something begins with it.
  void tick() {
    if (calls_left_-- <= 0) throw PowerLoss();
  }
  std::int64_t calls_until_failure() const { return calls_left_; }

  /// The power comes back: what has reached the device is all there is.
  void restart() {
    for (const Names& change : pending_names_)
      if (draw(2) == 0)
        for (const auto& [name, content] : change) set(durable_names_, name, content);
    pending_names_.clear();
    seen_names_ = durable_names_;
    for (const auto& [name, content] : seen_names_) settle(*content);
    calls_left_ = std::numeric_limits<std::int64_t>::max();
  }

  std::shared_ptr<Content> find(const std::string& name) const {
    const auto found = seen_names_.find(name);
    return found == seen_names_.end() ? nullptr : found->second;
  }
  /// Names that change together; null: removed.
  void change(const Names& names) {
    for (const auto& [name, content] : names) set(seen_names_, name, content);
    pending_names_.push_back(names);
  }
  void flush_names() {
    pending_names_.clear();
    durable_names_ = seen_names_;
  }

 private:
  static void set(Names& names, const std::string& name, const std::shared_ptr<Content>& content) {
    if (content) {
      names[name] = content;
    } else {
      names.erase(name);
    }
  }
  /// The sectors of a write, cut where the device's sectors end.
  static void cut(const Write& write, std::vector<Write>& pieces) {
    const auto end = write.offset + static_cast<std::int64_t>(write.bytes.size());
    for (std::int64_t at = write.offset; at < end;) {
      const std::int64_t next = std::min(end, (at / sector + 1) * sector);
      const auto from = write.bytes.begin() + (at - write.offset);
      pieces.push_back({at, Bytes(from, from + (next - at))});
      at = next;
    }
  }
  void put(Bytes& bytes, const Write& write) {
    const auto end = static_cast<std::size_t>(write.offset) + write.bytes.size();
    while (bytes.size() < end) bytes.push_back(static_cast<std::byte>(draw(256)));
    std::copy(write.bytes.begin(), write.bytes.end(), bytes.begin() + write.offset);
  }
  void settle(Content& content) {
    std::vector<Write> pieces;
    for (const Write& write : content.pending) cut(write, pieces);
    std::shuffle(pieces.begin(), pieces.end(), random_);
    const std::uint64_t arriving = draw(9);  // of eight
    for (Write& piece : pieces) {
      if (draw(8) >= arriving) continue;
      if (draw(8) == 0) piece.bytes.resize(draw(piece.bytes.size()));
      put(content.durable, piece);
    }
    content.pending.clear();
    content.seen = content.durable;
  }

  std::mt19937_64 random_;
  std::int64_t calls_left_ = std::numeric_limits<std::int64_t>::max();
  Names seen_names_, durable_names_;
  std::vector<Names> pending_names_;
};

class FileInMemory final : public RawFile {
 public:
  FileInMemory(Disk& disk, std::shared_ptr<Disk::Content> content) : disk_(disk), content_(std::move(content)) {}
  /// Short ones too.
  ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override {
    if (disk_.draw(8) == 0) bytes = 1 + disk_.draw(bytes);
    const auto* begin = static_cast<const std::byte*>(from);
    content_->pending.push_back({offset, Bytes(begin, begin + bytes)});
    const auto end = static_cast<std::size_t>(offset) + bytes;
    content_->seen.resize(std::max(content_->seen.size(), end));
    std::copy(begin, begin + bytes, content_->seen.begin() + offset);
    disk_.tick();
    return static_cast<ssize_t>(bytes);
  }
  ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override {
    const std::int64_t left = std::max<std::int64_t>(0, size() - offset);
    bytes = std::min(bytes, static_cast<std::size_t>(left));
    if (bytes > 0) std::memcpy(to, content_->seen.data() + offset, bytes);
    return static_cast<ssize_t>(bytes);
  }
  int reserve(std::int64_t, std::int64_t) override { return 0; }
  int flush() override {
    disk_.tick();
    content_->durable = content_->seen;
    content_->pending.clear();
    return 0;
  }
  std::int64_t size() override { return static_cast<std::int64_t>(content_->seen.size()); }
  bool is_direct() const override { return false; }

 private:
  Disk& disk_;
  std::shared_ptr<Disk::Content> content_;
};

/// All files of a disk.
class FilesInMemory final : public FileSystem {
 public:
  explicit FilesInMemory(std::uint64_t seed) : disk_(seed) {}
  Disk& disk() { return disk_; }
  std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) override {
    std::shared_ptr<Disk::Content> content = disk_.find(path);
    if (!content && mode != OpenMode::fresh) {
      errno = ENOENT;
      return nullptr;
    }
    if (mode == OpenMode::fresh) {
      disk_.tick();
      content = std::make_shared<Disk::Content>();
      disk_.change({{path, content}});
    }
    return std::make_unique<FileInMemory>(disk_, content);
  }
  int rename(const std::string& from, const std::string& to) override {
    disk_.tick();
    disk_.change({{to, disk_.find(from)}, {from, nullptr}});
    return 0;
  }
  int remove(const std::string& path) override {
    disk_.tick();
    disk_.change({{path, nullptr}});
    return 0;
  }
  int flush_folder_of(const std::string&) override {
    disk_.tick();
    disk_.flush_names();
    return 0;
  }

 private:
  Disk disk_;
};

}  // namespace hindsight::test
