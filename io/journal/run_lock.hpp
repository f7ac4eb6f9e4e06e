// A run folder belongs to one run at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/journal/process_identity.hpp"
#include "src/communicator.hpp"

namespace hindsight {

/// A file in the folder that says which process uses it. It appears whole or not at all; that of a process which has
/// died on this host, or before its last boot, is replaced; that of another host or container is respected. One and
/// the same process cannot have it twice.
class FolderLock {
 public:
  /// Removes the lock of an owner who is not known to live.
  static void take(const std::string& folder);
  /// @throws ResourceError, naming the owner and what to do, when another process has it, or when it cannot be made.
  explicit FolderLock(std::string folder);
  /// Gives it back, unless somebody has replaced it. A forked child gives nothing back.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  static std::string file(const std::string& folder) { return folder + "/lock"; }
  /// What the lock says, for parse_identity(); nothing when there is none.
  static std::optional<std::string> text(const std::string& folder);

 private:
  std::string folder_;
  ProcessIdentity me_;
};

/// Rank 0 holds the lock for all ranks. Makes the folder if need be.
class RunLock {
 public:
  /// @param takes even a lock that cannot be read or whose owner cannot be seen from here; never that of a process that
  /// is alive. Collective; all ranks throw. @throws ResourceError as FolderLock does.
  RunLock(const std::string& folder, const Communicator& comm, bool takes = false);

 private:
  std::unique_ptr<FolderLock> lock_;  // on rank 0
};

}  // namespace hindsight
