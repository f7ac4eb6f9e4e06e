#include "adjoint/shots/shot_groups.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

/// Of a group. @throws InputError
int size_of_groups(int ranks, int count) {
  if (count >= 1 && ranks % count == 0) return ranks / count;
  std::vector<std::string> possible;
  for (int n = 1; n <= ranks; ++n)
    if (ranks % n == 0) possible.push_back(std::to_string(n));
  throw InputError(fmt::format("--groups {}: {} ranks cannot be divided into so many equal groups; possible: {}", count,
                               ranks, join(possible)));
}

}  // namespace

ShotGroups::ShotGroups(const Communicator& world, int count)
    : world_(world),
      group_(split(world, world.rank() / size_of_groups(world.size(), count))),
      across_(split(world, world.rank() % group_.size())) {}

/// Ranks that fail do not wait for those that may not.
ShotGroups::~ShotGroups() {
  if (std::uncaught_exceptions() > 0) return;
  for (MPI_Comm comm : {group_.handle(), across_.handle()}) MPI_Comm_free(&comm);
}

void ShotGroups::call_off() const {
  if (std::exchange(has_called_, true) || !group_.is_root()) return;
  for (int g = 0; g < count(); ++g)
    if (g != index()) MPI_Send(nullptr, 0, MPI_BYTE, g * group_.size(), tag_of_calls, world_.handle());
}

bool ShotGroups::is_called_off() const {
  int is_there = 0;
  if (group_.is_root() && count() > 1)
    MPI_Iprobe(MPI_ANY_SOURCE, tag_of_calls, world_.handle(), &is_there, MPI_STATUS_IGNORE);
  return is_there != 0;
}

void ShotGroups::clear() const {
  if (count() == 1) return;
  std::vector<double> callers(static_cast<std::size_t>(count()), 0.0);
  callers[static_cast<std::size_t>(index())] = std::exchange(has_called_, false) ? 1.0 : 0.0;
  across_.sum(callers);
  for (int g = 0; group_.is_root() && g < count(); ++g)
    if (g != index() && callers[static_cast<std::size_t>(g)] > 0.0)
      MPI_Recv(nullptr, 0, MPI_BYTE, g * group_.size(), tag_of_calls, world_.handle(), MPI_STATUS_IGNORE);
}

void ShotGroups::together(const std::function<void()>& work) const {
  std::string failure;
  ExitCode code = ExitCode::done;
  try {
    work();
  } catch (const Error& error) {
    if (!have_met()) throw;
    failure = error.what();
    code = error.code();
  }
  world_.agree(failure, static_cast<int>(code));
}

bool ShotGroups::have_met() const {
  constexpr double patience = 2.0;  // seconds
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(group_.handle(), &request);
  const double end = MPI_Wtime() + patience;
  for (int is_done = 0; is_done == 0;) {
    if (MPI_Wtime() > end) return false;
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  }
  return true;
}

MPI_Comm ShotGroups::split(const Communicator& world, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(world.handle(), color, world.rank(), &part);
  return part;
}

}  // namespace hindsight
