#include "io/files/dying_files.hpp"

#include <csignal>
#include <utility>

namespace hindsight {
namespace {

/// Whether the chosen call is this one.
bool is_last(std::int64_t& calls_left) {
  return --calls_left == 0;
}

void live_on(std::int64_t& calls_left) {
  if (is_last(calls_left)) std::raise(SIGKILL);
}

class DyingFile final : public RawFile {
 public:
  DyingFile(std::unique_ptr<RawFile> file, std::shared_ptr<std::int64_t> calls_left)
      : file_(std::move(file)), calls_left_(std::move(calls_left)) {}
  ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override {
    if (!is_last(*calls_left_)) return file_->write(from, bytes, offset);
    const ssize_t written = file_->write(from, bytes / 2, offset);
    std::raise(SIGKILL);
    return written;
  }
  ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override { return file_->read(to, bytes, offset); }
  int reserve(std::int64_t offset, std::int64_t bytes) override { return file_->reserve(offset, bytes); }
  int flush() override {
    live_on(*calls_left_);
    return file_->flush();
  }
  std::int64_t size() override { return file_->size(); }
  bool is_direct() const override { return file_->is_direct(); }

 private:
  std::unique_ptr<RawFile> file_;
  std::shared_ptr<std::int64_t> calls_left_;
};

}  // namespace

DyingFiles::DyingFiles(std::unique_ptr<FileSystem> files, std::int64_t call)
    : files_(std::move(files)), calls_left_(std::make_shared<std::int64_t>(call)) {}

std::unique_ptr<RawFile> DyingFiles::open(const std::string& path, OpenMode mode) {
  if (mode == OpenMode::fresh) live_on(*calls_left_);
  std::unique_ptr<RawFile> file = files_->open(path, mode);
  if (!file) return nullptr;  // errno says why
  return std::make_unique<DyingFile>(std::move(file), calls_left_);
}

int DyingFiles::rename(const std::string& from, const std::string& to) {
  live_on(*calls_left_);
  return files_->rename(from, to);
}

int DyingFiles::remove(const std::string& path) {
  live_on(*calls_left_);
  return files_->remove(path);
}

int DyingFiles::flush_folder_of(const std::string& path) {
  live_on(*calls_left_);
  return files_->flush_folder_of(path);
}

}  // namespace hindsight
