#include "io/journal/run_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "io/files/file_system.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ResourceError("cannot " + what + " '" + path + "': " + std::strerror(errno));
}

/// The lock's text in a file of its own, on the device, to be given the lock's name at once.
class Draft {
 public:
  Draft(const std::string& lock, const ProcessIdentity& me)
      : path_(lock + "." + me.host + "." + std::to_string(me.process)) {
    const std::string text = to_text(me);
    const std::unique_ptr<RawFile> file = PosixFileSystem().open(path_, OpenMode::fresh);
    if (!file) fail("create", path_);
    if (write_whole(*file, text.data(), static_cast<std::int64_t>(text.size()), 0) && file->flush() == 0) return;
    const int error = errno;
    unlink(path_.c_str());
    errno = error;
    fail("write", path_);
  }
  ~Draft() { unlink(path_.c_str()); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  const std::string& path() const { return path_; }
  /// Whether it has a second name. A network file system may say that link() failed when its answer was lost.
  bool is_linked() const {
    struct stat status {};
    return stat(path_.c_str(), &status) == 0 && status.st_nlink == 2;
  }

 private:
  std::string path_;
};

[[noreturn]] void refuse(const std::string& folder, const std::optional<ProcessIdentity>& owner, Liveness state) {
  const std::string remedy = "say --take-lock";
  if (!owner)
    throw ResourceError("the run folder '" + folder + "' has a lock that cannot be read; if no run uses the folder, " +
                        remedy);
  throw ResourceError(
      "the run folder '" + folder + "' is in use by process " + std::to_string(owner->process) + " on host " +
      owner->host + (owner->job ? " (job " + owner->job->job + ")" : "") + " since " + owner->date +
      (state == Liveness::alive ? "; wait for it or choose another folder"
                                : "; whether it still runs cannot be seen from here: if it does not, " + remedy));
}

/// Whether flock() failed because the file system has no such locks.
bool has_no_locks(int error) {
  return error == ENOLCK || error == ENOTSUP || error == ENOSYS || error == EINVAL;
}

[[noreturn]] void refuse_to_take(const std::string& folder, const std::optional<ProcessIdentity>& owner) {
  throw ResourceError("the run folder '" + folder + "' cannot be taken: " +
                      (owner ? "process " + std::to_string(owner->process) + " on host " + owner->host : "its owner") +
                      " lives, for it writes there; end it first");
}

std::string taken_text(const std::string& folder, const std::optional<std::string>& text) {
  const std::optional<ProcessIdentity> owner = parse_identity(text.value_or(""));
  const std::string what = "the run folder '" + folder + "'";
  if (!text)
    return "the lock of " + what + " is gone: a process that took it has ended, or it was removed; this process ends";
  if (!owner) return what + " has been taken, by a lock that cannot be read; this process ends";
  return what + " was taken by process " + std::to_string(owner->process) + " on host " + owner->host + " at " +
         owner->date + ", which goes on with the run; this process ends";
}

}  // namespace

/// A lock's file, and not the one that may have its name later.
class FolderLock::Opened {
 public:
  explicit Opened(std::string path) : path_(std::move(path)), file_(open(path_.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0 && errno == EACCES) file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);  // another user's
    if (file_ < 0 && errno != ENOENT) fail("open the lock", path_);
  }
  ~Opened() {
    if (file_ >= 0) close(file_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  bool is_there() const { return file_ >= 0; }
  /// Waits until no other process owns the file; lasts until the end, or the process's death. Where the file system has
  /// no such locks it is nobody's. @returns false when the time is up.
  bool own_within(Seconds patience) const {
    constexpr auto pause = std::chrono::milliseconds(5);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (has_no_locks(errno)) return true;
      if (errno != EWOULDBLOCK && errno != EINTR) fail("replace the lock", path_);
      stop_if_asked();
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(pause);
    }
    return true;
  }
  /// The same without a limit, where the file system has such locks. @returns false when the file is gone, as a server
  /// may know before its name is.
  bool own_if_possible() const { return lock_if_possible(LOCK_EX); }
  /// Waits until no process owns the file; none does then before the end, but others may share it so. @returns as
  /// above.
  bool share_if_possible() const { return lock_if_possible(LOCK_SH); }
  /// Whether the file still has its name.
  bool is_named() const {
    struct stat mine {
    }, named{};
    if (fstat(file_, &mine) != 0) fail("examine the lock", path_);
    return stat(path_.c_str(), &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
  }
  std::string text() const {
    std::string text(4096, '\0');
    const ssize_t n = pread(file_, text.data(), text.size(), 0);
    if (n < 0) fail("read the lock", path_);
    text.resize(static_cast<std::size_t>(n));
    return text;
  }

 private:
  bool lock_if_possible(int how) const {
    while (flock(file_, how) != 0)
      if (errno != EINTR) return has_no_locks(errno);
    return true;
  }
  std::string path_;
  int file_;
};

FolderLock::FolderLock(std::string folder, bool takes, Seconds patience)
    : folder_(std::move(folder)), me_(this_process()) {
  const std::string path = file(folder_);
  for (bool is_mine = false; !is_mine;) {  // an owner who ends may take a draft for litter: then with another
    const Draft draft(path, me_);
    is_mine = link(draft.path().c_str(), path.c_str()) == 0 || draft.is_linked();
    if (!is_mine && errno != EEXIST && errno != ENOENT) fail("create the lock", path);
    if (!is_mine) is_mine = replace(draft.path(), takes, patience);
  }
}

/// @returns false when the lock has changed meanwhile.
bool FolderLock::replace(const std::string& draft, bool takes, Seconds patience) const {
  const Opened lock(file(folder_));
  if (!lock.is_there()) return false;
  const std::optional<ProcessIdentity> owner = parse_identity(lock.text());
  const Liveness state = owner ? liveness(*owner, patience.count()) : Liveness::unknown;
  if (state == Liveness::alive || (state == Liveness::unknown && !takes)) {
    if (!lock.is_named()) return false;
    refuse(folder_, owner, state);
  }
  // Of those who replace the owner's file only one at a time comes past here, and the others find it gone then.
  if (!lock.own_within(patience)) refuse_to_take(folder_, owner);
  if (!lock.is_named()) return false;
  if (rename(draft.c_str(), file(folder_).c_str()) == 0) return true;
  if (errno != ENOENT) fail("replace the lock", file(folder_));
  return false;
}

FolderLock::~FolderLock() {
  if (getpid() != me_.process) return;
  try {
    const Opened lock(file(folder_));
    if (lock.is_there() && lock.text() == own_text() && lock.own_if_possible() && lock.is_named())
      unlink(file(folder_).c_str());
  } catch (const ResourceError&) {  // somebody else's by now
  }
}

FolderLock::Grip FolderLock::grip(const std::string& folder, const std::string& owner) {
  const auto lock = std::make_shared<const Opened>(file(folder));
  if (lock->is_there() && lock->text() == owner && lock->share_if_possible() && lock->is_named()) return lock;
  throw ResourceError(taken_text(folder, text(folder)));
}

std::optional<std::string> FolderLock::text(const std::string& folder) {
  std::ifstream lock(file(folder));
  if (!lock) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(lock), {});
}

std::optional<ProcessIdentity> FolderLock::owner(const std::string& folder) {
  return parse_identity(text(folder).value_or(""));
}

RunLock::RunLock(const std::string& folder, const Communicator& comm, bool takes) : comm_(comm), folder_(folder) {
  comm_.on_root([&] {
    made_.emplace(folder);
    if (const std::error_code error = made_->make())
      throw ResourceError("cannot create the run folder '" + folder + "': " + error.message());
    lock_ = std::make_unique<FolderLock>(folder, takes);
    owner_ = lock_->own_text();
  });
  owner_ = comm_.broadcast(owner_);
}

RunLock::RunLock(const RunLock& whole, const Communicator& part)
    : comm_(part), whole_(&whole), folder_(whole.folder_), owner_(whole.owner_) {}

namespace {

class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

}  // namespace

void RunLock::hold(const std::function<void()>& work) const {
  if (is_held_) return work();
  FolderLock::Grip grip;
  bool& is_lost = whole_ != nullptr ? whole_->is_lost_ : is_lost_;
  is_lost = true;
  comm_.on_root([&] { grip = this->grip(); });
  is_lost = false;
  const Raised held(is_held_);
  work();
  comm_.any(false);  // all ranks have worked
}

void RunLock::hold_alone(const std::function<void()>& work) const {
  if (!comm_.is_root()) return;
  FolderLock::Grip grip;
  if (!is_held_) grip = this->grip();
  work();
}

}  // namespace hindsight
