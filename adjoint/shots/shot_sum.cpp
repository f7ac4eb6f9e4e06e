#include "adjoint/shots/shot_sum.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace hindsight {
namespace {

/// Of a message: a node's first number, its end, and how many numbers its sum has; 0: all in it were left out.
constexpr std::size_t head = 3;
enum { tag_of_heads = 19001, tag_of_sums };

}  // namespace

template <class T>
void ShotSum::send(const std::vector<T>& numbers, MPI_Datatype type, int tag) {
  MPI_Send(numbers.data(), static_cast<int>(numbers.size()), type, 0, tag, groups_.across().handle());
  ++sent_.messages;
  sent_.bytes += std::ssize(numbers) * static_cast<std::int64_t>(sizeof(T));
}

void ShotSum::send() {
  std::vector<std::int64_t> heads;
  sum_.for_each([&](std::size_t first, std::size_t end, const std::optional<ShotPart>& part) {
    for (const std::size_t number : {first, end, part ? part->numbers.size() : 0})
      heads.push_back(static_cast<std::int64_t>(number));
  });
  send(heads, MPI_INT64_T, tag_of_heads);
  sum_.for_each([&](std::size_t, std::size_t, const std::optional<ShotPart>& part) {
    if (part) send(part->numbers, MPI_DOUBLE, tag_of_sums);
  });
}

/// In order of shots, so that few wait.
void ShotSum::receive() {
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
  for (const auto& [first, end, numbers, group] : nodes) {
    std::optional<ShotPart> part;
    if (numbers > 0) {
      part.emplace().numbers.resize(static_cast<std::size_t>(numbers));
      MPI_Recv(part->numbers.data(), static_cast<int>(numbers), MPI_DOUBLE, group, tag_of_sums, across,
               MPI_STATUS_IGNORE);
    }
    sum_.enter(static_cast<std::size_t>(first), static_cast<std::size_t>(end), std::move(part));
  }
}

std::optional<ShotPart> ShotSum::total() {
  const MPI_Comm across = groups_.across().handle();
  if (groups_.count() == 1) return sum_.take();
  std::optional<ShotPart> total;
  if (groups_.index() == 0) {
    receive();
    total = sum_.take();
  } else {
    send();
  }
  std::int64_t numbers = total ? std::ssize(total->numbers) : 0;
  MPI_Bcast(&numbers, 1, MPI_INT64_T, 0, across);
  if (numbers == 0) return std::nullopt;
  if (!total) total.emplace().numbers.resize(static_cast<std::size_t>(numbers));
  MPI_Bcast(total->numbers.data(), static_cast<int>(numbers), MPI_DOUBLE, 0, across);
  return total;
}

}  // namespace hindsight
