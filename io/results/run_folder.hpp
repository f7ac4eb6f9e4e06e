// The folder that a run writes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/journal/run_lock.hpp"
#include "runtime/communicator.hpp"

namespace hindsight {

/// What becomes of the results of an earlier run in the same folder.
enum class EarlierResults {
  removed,
  kept,  ///< the run goes on with them
};

/// Files appear under their final names only when whole: each is written as NAME.partial, flushed, and renamed.
class RunFolder {
 public:
  /// Creates the folder, or, to go on with earlier results, requires it. Collective. @param inputs files that the run
  /// reads. @param lock of the folder, or of one that it lies in, must outlive this; null: nobody else comes here.
  /// @throws ResourceError when it cannot be written, InputError when one of `inputs` would be removed.
  RunFolder(std::string path, const Communicator& comm, const std::vector<std::string>& inputs = {},
            EarlierResults earlier = EarlierResults::removed, const RunLock* lock = nullptr);
  const std::string& path() const { return path_; }
  const Communicator& communicator() const { return comm_; }
  /// Whether the run goes on with an earlier one's results.
  bool is_resumed() const { return earlier_ == EarlierResults::kept; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string partial(const std::string& name) const { return file(name) + ".partial"; }
  /// All ranks make, rename or remove files while nobody can take the folder from the run, as all below do. Collective.
  /// @throws ResourceError when somebody has taken it.
  void hold(const std::function<void()>& work) const;
  /// Rank 0 writes a small text file. Collective.
  void write_text(const std::string& name, const std::string& text) const;
  /// What any rank has written to NAME.partial, and that it is there, have reached the device. Collective.
  /// @throws ResourceError on every rank when one of them cannot open or flush it.
  void flush_partial(const std::string& name) const;
  /// Rank 0 flushes NAME.partial and gives it its final name. Collective.
  void publish(const std::string& name) const;

 private:
  void write_partial(const std::string& name, const std::string& text) const;
  std::string path_;
  Communicator comm_;
  EarlierResults earlier_;
  const RunLock* lock_;
};

}  // namespace hindsight
