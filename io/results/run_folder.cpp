#include "io/results/run_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "src/error.hpp"

namespace hindsight {
namespace {

/// What a run can leave behind.
const char* const result_files[] = {"result.json",     "fields.h5", "fields.xdmf", "gradient.h5", "estimate.h5",
                                    "convergence.csv", "log.jsonl", "case.yaml",   "check.json"};

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

/// Runs on rank 0; its failure becomes everybody's.
void on_root(const Communicator& comm, const std::function<void()>& work) {
  std::string failure;
  if (comm.is_root()) {
    try {
      work();
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  comm.agree(failure, static_cast<int>(ExitCode::resource));
}

}  // namespace

RunFolder::RunFolder(std::string path, const Communicator& comm) : path_(std::move(path)), comm_(comm) {
  on_root(comm_, [&] {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (!std::filesystem::is_directory(path_))
      throw ResourceError("cannot create the run folder '" + path_ + "': " + error.message());
    if (access(path_.c_str(), W_OK) != 0) fail("write into the run folder", path_);
    for (const char* name : result_files)
      for (const std::string& old : {file(name), partial(name)})
        if (std::filesystem::remove(old, error); error)
          throw ResourceError("cannot remove '" + old + "' of an earlier run: " + error.message());
  });
}

void RunFolder::write_text(const std::string& name, const std::string& text) const {
  on_root(comm_, [&] {
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
  publish(name);
}

void RunFolder::publish(const std::string& name) const {
  on_root(comm_, [&] {
    flush(partial(name), O_RDWR);
    if (rename(partial(name).c_str(), file(name).c_str()) != 0) fail("rename", partial(name));
    flush(path_, O_RDONLY | O_DIRECTORY);
  });
}

}  // namespace hindsight
