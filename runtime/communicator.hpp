// A group of MPI ranks. No communicator or rank is global: everything that talks is handed one of these.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hindsight {

/// A view of an MPI communicator that somebody else owns and that outlives it.
class Communicator {
 public:
  explicit Communicator(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }
  MPI_Comm handle() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }

  /// True on every rank if true on any. Collective.
  bool any(bool here) const;
  /// Collective. If `message` is non-empty on any rank, every rank throws the lowest such rank's error (message and
  /// code, of the class that belongs to the code); otherwise returns. Turns one rank's failure into everybody's,
  /// without a hang.
  void agree(const std::string& message, int code) const;
  /// Every rank works; what one throws, all throw. No rank returns before all have worked. Collective.
  void together(const std::function<void()>& work) const;
  /// Rank 0 works; what it throws, every rank throws (other exceptions than Error: ResourceError). Collective.
  void on_root(const std::function<void()>& work) const;
  /// Rank 0 works, then the others, which may find what it made; what one throws, all throw. Collective.
  void root_first(const std::function<void()>& work) const;
  /// The text of the lowest rank whose text is not empty, on every rank. Collective.
  std::string first_text(const std::string& text) const;
  /// Element-wise sum over ranks. Collective. Independent of the number of ranks only when at most one rank holds a
  /// non-zero entry per element.
  void sum(std::span<double> values) const;
  /// The largest over ranks. Collective.
  std::int64_t max(std::int64_t value) const;
  double max(double value) const;
  /// The text that rank 0 has. Collective.
  std::string broadcast(const std::string& text) const;

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace hindsight
