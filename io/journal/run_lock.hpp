// A run folder belongs to one run at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/files/made_folder.hpp"
#include "io/journal/process_identity.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// A file in the folder that says which process uses it. It appears whole or not at all; that of a process which has
/// died on this host, or before its last boot, is replaced; that of another host or container is respected. One and
/// the same process cannot have it twice.
///
/// An owner who cannot be seen may live though its lock is taken. Whatever it changes by name (files that appear, get
/// another name, or go), it changes while it has a Grip: that waits for who is taking the lock, makes who wants to take
/// it wait, and refuses an owner whose lock was taken. Between hosts this is as good as the file system's locks
/// (flock); where it has none, an owner who is taken between its last look and the change is not found out.
class FolderLock {
  class Opened;

 public:
  using Seconds = std::chrono::duration<double>;
  /// @param takes even a lock that cannot be read, or whose owner is not known to live. @param patience with an owner
  /// that is taken from while it has a Grip, and so lives after all. @throws ResourceError, naming the owner and what
  /// to do, when another process has it, or when it cannot be made.
  explicit FolderLock(std::string folder, bool takes = false, Seconds patience = Seconds(60));
  /// Gives it back, unless somebody has taken it. A forked child gives nothing back.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  static std::string file(const std::string& folder) { return folder + "/lock"; }
  /// What this one's file says.
  std::string own_text() const { return to_text(me_); }
  /// What the lock says, for parse_identity(); nothing when there is none.
  static std::optional<std::string> text(const std::string& folder);
  /// Who has it; nothing when there is none, or it cannot be read.
  static std::optional<ProcessIdentity> owner(const std::string& folder);

  using Grip = std::shared_ptr<const Opened>;
  /// While it exists, the lock is not taken. @throws ResourceError, saying who has taken it and when.
  Grip grip() const { return grip(folder_, own_text()); }
  /// The same for a process that works for the owner. @param owner the text of the lock.
  static Grip grip(const std::string& folder, const std::string& owner);

 private:
  bool replace(const std::string& draft, bool takes, Seconds patience) const;
  std::string folder_;
  ProcessIdentity me_;
};

/// Rank 0 has the lock for all ranks. Makes the folder if need be; when nothing came into it, it goes again.
class RunLock {
 public:
  /// @param takes even a lock that cannot be read or whose owner cannot be seen from here; never that of a process that
  /// is alive. Collective; all ranks throw. @throws ResourceError as FolderLock does.
  RunLock(const std::string& folder, const Communicator& comm, bool takes = false);
  /// Of some of the ranks, for what these do without the others; `whole` must outlive it. Collective over all.
  RunLock(const RunLock& whole, const Communicator& part);
  /// What the lock says.
  const std::string& owner() const { return owner_; }
  /// All ranks work while nobody can take the folder from them, also within such work. Collective. @throws
  /// ResourceError, on all ranks, when somebody has taken it.
  void hold(const std::function<void()>& work) const;
  /// Rank 0 works so, without a word to the others. @throws ResourceError
  void hold_alone(const std::function<void()>& work) const;
  /// Whether hold() has found it taken.
  bool is_lost() const { return is_lost_; }

 private:
  FolderLock::Grip grip() const { return FolderLock::grip(folder_, owner_); }
  Communicator comm_;
  const RunLock* whole_ = nullptr;
  std::string folder_, owner_;      // the lock's text, on all ranks
  std::optional<MadeFolder> made_;  // on rank 0, as is the lock
  std::unique_ptr<FolderLock> lock_;
  mutable bool is_held_ = false, is_lost_ = false;
};

}  // namespace hindsight
