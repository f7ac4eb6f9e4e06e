#include "adjoint/shots/shot_groups.hpp"

#include <fmt/format.h>

#include <string>
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

ShotGroups::~ShotGroups() {
  for (MPI_Comm comm : {group_.handle(), across_.handle()}) MPI_Comm_free(&comm);
}

MPI_Comm ShotGroups::split(const Communicator& world, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(world.handle(), color, world.rank(), &part);
  return part;
}

}  // namespace hindsight
