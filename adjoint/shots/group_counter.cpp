#include "adjoint/shots/group_counter.hpp"

#include <utility>

namespace hindsight {

std::int64_t GroupCounter::add(std::int64_t number) {
  serve();
  std::int64_t before = 0;
  if (groups_.world().is_root()) {
    before = std::exchange(counter_, counter_ + number);
  } else if (groups_.group().is_root()) {
    const MPI_Comm world = groups_.world().handle();
    MPI_Send(&number, 1, MPI_INT64_T, 0, tag_of_questions, world);
    MPI_Recv(&before, 1, MPI_INT64_T, 0, tag_of_answers, world, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(&before, 1, MPI_INT64_T, 0, groups_.group().handle());
  return before;
}

void GroupCounter::serve() {
  if (groups_.count() == 1 || !groups_.world().is_root()) return;
  const MPI_Comm world = groups_.world().handle();
  while (true) {
    int is_there = 0;
    MPI_Status asked;
    MPI_Iprobe(MPI_ANY_SOURCE, tag_of_questions, world, &is_there, &asked);
    if (is_there == 0) return;
    std::int64_t number = 0;
    MPI_Recv(&number, 1, MPI_INT64_T, asked.MPI_SOURCE, tag_of_questions, world, MPI_STATUS_IGNORE);
    const std::int64_t before = std::exchange(counter_, counter_ + number);
    MPI_Send(&before, 1, MPI_INT64_T, asked.MPI_SOURCE, tag_of_answers, world);
  }
}

/// Whoever comes here has been answered.
void GroupCounter::restart(const std::function<void()>& meanwhile) {
  if (groups_.count() > 1) {
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(groups_.world().handle(), &all);
    for (int is_done = 0; groups_.world().is_root() && is_done == 0;) {
      serve();
      if (meanwhile) meanwhile();
      MPI_Test(&all, &is_done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&all, MPI_STATUS_IGNORE);
  }
  counter_ = 0;
}

}  // namespace hindsight
