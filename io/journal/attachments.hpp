// Small things that every epoch has, under names: what is planned, how far the output is.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// What is attached has to be the same on all ranks.
class Attachments {
 public:
  /// Every epoch from now on has under this name what `write` writes then; it must work until
  /// it is detached.
  void attach(const std::string& name, std::function<void(ArchiveWriter&)> write);
  void detach(const std::string& name) { writers_.erase(name); }
  /// Lets `read` read what the epoch that the run goes on from has under this name. @returns false when it has nothing.
  /// @throws ResourceError when something else was written.
  bool read(const std::string& name, const std::function<void(ArchiveReader&)>& read) const;

  /// All that is attached, as an epoch has it.
  void save(ArchiveWriter& to) const;
  void restore(BlockReader& from);
  /// Whether nothing was restored.
  bool is_empty() const { return earlier_.empty(); }

 private:
  std::map<std::string, std::function<void(ArchiveWriter&)>> writers_;
  std::map<std::string, std::string> earlier_;  // of the process before
};

}  // namespace hindsight
