#include "adjoint/shots/shot_sum.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace hindsight {
namespace {

/// Of a message: a node's first number, its end, and how many sums it has; 0: all in it were left out.
constexpr std::size_t head = 3;

}  // namespace

template <class T>
void ShotSum::send(const std::vector<T>& numbers, MPI_Datatype type, int tag) {
  MPI_Send(numbers.data(), static_cast<int>(numbers.size()), type, 0, tag, groups_.across().handle());
  ++sent_.messages;
  sent_.bytes += std::ssize(numbers) * static_cast<std::int64_t>(sizeof(T));
}

void ShotSum::enter(std::size_t first, std::size_t end, std::optional<WaitingPart> sum) {
  sum_.enter(first, end, std::move(sum));
  std::size_t in_memory = log_ != nullptr ? waiting_in_memory() : 0;
  if (in_memory <= most_) return;
  sum_.for_each([&](std::size_t, std::size_t, std::optional<WaitingPart>& part) {
    if (in_memory <= most_ || !part || !part->is_in_memory()) return;
    part->put_away(*log_);
    --in_memory;
  });
}

std::size_t ShotSum::waiting_in_memory() const {
  std::size_t parts = 0;
  sum_.for_each([&](std::size_t, std::size_t, const std::optional<WaitingPart>& part) {
    parts += part && part->is_in_memory() ? 1 : 0;
  });
  return parts;
}

/// Where a part cannot be read, no numbers are sent of it and of those behind it, and then it is thrown.
void ShotSum::send() {
  std::vector<std::int64_t> heads;
  sum_.for_each([&](std::size_t first, std::size_t end, const std::optional<WaitingPart>& part) {
    for (const std::size_t number : {first, end, static_cast<std::size_t>(part ? 1 : 0)})
      heads.push_back(static_cast<std::int64_t>(number));
  });
  send(heads, MPI_INT64_T, tag_of_heads);
  std::optional<Error> failure;
  sum_.for_each([&](std::size_t, std::size_t, const std::optional<WaitingPart>& part) {
    if (!part) return;
    try {
      if (!failure) return part->look_at([&](const ShotPart& it) { send(it.numbers, MPI_DOUBLE, tag_of_sums); });
    } catch (const Error& error) {
      failure = error;
    }
    send(std::vector<double>(), MPI_DOUBLE, tag_of_sums);
  });
  if (failure) throw Error(*failure);
}

/// @returns no numbers where the group could not read them.
ShotPart ShotSum::receive(int group) const {
  const MPI_Comm across = groups_.across().handle();
  MPI_Status status;
  int count = 0;
  MPI_Probe(group, tag_of_sums, across, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  ShotPart part{std::vector<double>(static_cast<std::size_t>(count))};
  MPI_Recv(part.numbers.data(), count, MPI_DOUBLE, group, tag_of_sums, across, MPI_STATUS_IGNORE);
  return part;
}

/// In order of shots, so that few wait. @returns whether the other groups could send all that they had.
bool ShotSum::receive() {
  const MPI_Comm across = groups_.across().handle();
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>> nodes;  // heads and their groups
  for (int group = 1; group < groups_.count(); ++group) {
    MPI_Status status;
    int count = 0;
    MPI_Probe(group, tag_of_heads, across, &status);
    MPI_Get_count(&status, MPI_INT64_T, &count);
    std::vector<std::int64_t> heads(static_cast<std::size_t>(count));
    MPI_Recv(heads.data(), count, MPI_INT64_T, group, tag_of_heads, across, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < heads.size(); i += head)
      nodes.emplace_back(heads[i], heads[i + 1], heads[i + 2], group);
  }
  std::ranges::sort(nodes);
  bool has_all = true;
  std::optional<Error> failure;
  for (const auto& [first, end, sums, group] : nodes) {
    std::optional<WaitingPart> sum;
    if (sums > 0) sum.emplace(receive(group));
    has_all = has_all && (sums == 0 || sum->has_numbers());
    if (failure || !has_all) continue;  // whatever was sent is received
    try {
      enter(static_cast<std::size_t>(first), static_cast<std::size_t>(end), std::move(sum));
    } catch (const Error& error) {
      failure = error;
    }
  }
  if (failure) throw Error(*failure);
  return has_all;
}

std::optional<ShotPart> ShotSum::total() {
  const MPI_Comm across = groups_.across().handle();
  std::optional<ShotPart> total;
  std::optional<Error> failure;
  try {
    if (groups_.index() > 0)
      send();
    else if (receive())
      if (std::optional<WaitingPart> sum = sum_.take()) total = std::move(*sum).take();
  } catch (const Error& error) {
    failure = error;
  }
  groups_.world().agree(failure ? failure->what() : "", failure ? static_cast<int>(failure->code()) : 0);
  std::int64_t numbers = total ? std::ssize(total->numbers) : 0;
  MPI_Bcast(&numbers, 1, MPI_INT64_T, 0, across);
  if (numbers == 0) return std::nullopt;
  if (!total) total.emplace().numbers.resize(static_cast<std::size_t>(numbers));
  MPI_Bcast(total->numbers.data(), static_cast<int>(numbers), MPI_DOUBLE, 0, across);
  return total;
}

}  // namespace hindsight
