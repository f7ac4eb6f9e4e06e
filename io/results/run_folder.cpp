#include "io/results/run_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/results/run_files.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ResourceError("cannot " + what + " '" + path + "': " + std::strerror(errno));
}

void flush(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail("open", path);
  const int status = fsync(file);
  close(file);
  if (status != 0) fail("flush", path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path))
    throw ResourceError("cannot create the run folder '" + path + "': " + error.message());
}

void require_folder(const std::string& path) {
  if (!std::filesystem::is_directory(path)) throw ResourceError("there is no run folder '" + path + "' to go on with");
}

void remove_results(const RunFolder& folder, const std::vector<std::string>& inputs) {
  for (const std::string& name : result_names())
    for (const std::string& old : {folder.file(name), folder.partial(name)}) refuse_to_remove(old, inputs);
  std::error_code error;
  for (const std::string& name : result_names())
    for (const std::string& old : {folder.file(name), folder.partial(name)})
      if (std::filesystem::remove(old, error); error)
        throw ResourceError("cannot remove '" + old + "' of an earlier run: " + error.message());
}

}  // namespace

RunFolder::RunFolder(std::string path, const Communicator& comm, const std::vector<std::string>& inputs,
                     EarlierResults earlier, const RunLock* lock)
    : path_(std::move(path)), comm_(comm), earlier_(earlier), lock_(lock) {
  comm_.on_root([&] {
    is_resumed() ? require_folder(path_) : make_folder(path_);
    if (access(path_.c_str(), W_OK) != 0) fail("write into the run folder", path_);
    if (!is_resumed()) remove_results(*this, inputs);
  });
}

void RunFolder::hold(const std::function<void()>& work) const {
  lock_ != nullptr ? lock_->hold(work) : work();
}

void RunFolder::write_text(const std::string& name, const std::string& text) const {
  hold([&] {
    write_partial(name, text);
    publish(name);
  });
}

void RunFolder::write_partial(const std::string& name, const std::string& text) const {
  comm_.on_root([&] {
    const std::string path = partial(name);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) fail("write", path);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(file, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        close(file);
        fail("write", path);
      }
      done += static_cast<std::size_t>(n);
    }
    if (close(file) != 0) fail("write", path);
  });
}

void RunFolder::flush_partial(const std::string& name) const {
  comm_.together([&] {
    flush(partial(name), O_RDWR);
    if (comm_.is_root()) flush(path_, O_RDONLY | O_DIRECTORY);
  });
}

void RunFolder::publish(const std::string& name) const {
  hold([&] {
    comm_.on_root([&] {
      flush(partial(name), O_RDWR);
      if (rename(partial(name).c_str(), file(name).c_str()) != 0) fail("rename", partial(name));
      flush(path_, O_RDONLY | O_DIRECTORY);
    });
  });
}

}  // namespace hindsight
