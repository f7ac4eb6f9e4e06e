#include "adjoint/shots/group_counter.hpp"

#include <exception>
#include <utility>

namespace hindsight {

GroupCounter::GroupCounter(const ShotGroups& groups) : groups_(groups) {
  if (groups.count() == 1) return;
  const MPI_Aint bytes = groups.world().is_root() ? MPI_Aint{sizeof(std::int64_t)} : 0;
  MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, groups.world().handle(), &counter_, &window_);
  if (groups.world().is_root()) *counter_ = 0;
  groups.world().any(false);  // nobody adds before it is there
}

/// Ranks that fail do not wait for those that may not.
GroupCounter::~GroupCounter() {
  if (window_ != MPI_WIN_NULL && std::uncaught_exceptions() == 0) MPI_Win_free(&window_);
}

std::int64_t GroupCounter::add(std::int64_t number) {
  if (window_ == MPI_WIN_NULL) return std::exchange(own_, own_ + number);
  std::int64_t before = 0;
  if (groups_.group().is_root()) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
    MPI_Fetch_and_op(&number, &before, MPI_INT64_T, 0, 0, MPI_SUM, window_);
    MPI_Win_unlock(0, window_);
  }
  MPI_Bcast(&before, 1, MPI_INT64_T, 0, groups_.group().handle());
  return before;
}

void GroupCounter::restart() {
  own_ = 0;
  if (window_ == MPI_WIN_NULL) return;
  groups_.world().any(false);  // all have added
  if (groups_.world().is_root()) {
    constexpr std::int64_t zero = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window_);
    MPI_Put(&zero, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window_);
    MPI_Win_unlock(0, window_);
  }
  groups_.world().any(false);
}

}  // namespace hindsight
