#include "adjoint/shots/shot_sum.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace hindsight {
namespace {

/// Of a message: a node's first number, its end, and how many sums it has; 0: all in it were left out.
constexpr std::size_t head = 3;
enum { tag_of_heads = 19001, tag_of_sums };

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

/// Of a part that cannot be read no number is sent.
void ShotSum::send() {
  std::vector<std::int64_t> heads;
  sum_.for_each([&](std::size_t first, std::size_t end, const std::optional<WaitingPart>& part) {
    for (const std::size_t number : {first, end, static_cast<std::size_t>(part ? 1 : 0)})
      heads.push_back(static_cast<std::int64_t>(number));
  });
  send(heads, MPI_INT64_T, tag_of_heads);
  sum_.for_each([&](std::size_t, std::size_t, const std::optional<WaitingPart>& part) {
    if (!part) return;
    try {
      if (!failure_) return part->look_at([&](const ShotPart& it) { send(it.numbers, MPI_DOUBLE, tag_of_sums); });
    } catch (const Error& error) {
      failure_ = error;
    }
    send(std::vector<double>(), MPI_DOUBLE, tag_of_sums);
  });
}

/// A node of another group.
void ShotSum::receive(std::size_t first, std::size_t end, bool has_sum, int group) {
  std::optional<WaitingPart> sum;
  if (has_sum) {
    const MPI_Comm across = groups_.across().handle();
    MPI_Status status;
    int count = 0;
    MPI_Probe(group, tag_of_sums, across, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    ShotPart part{std::vector<double>(static_cast<std::size_t>(count))};
    MPI_Recv(part.numbers.data(), count, MPI_DOUBLE, group, tag_of_sums, across, MPI_STATUS_IGNORE);
    if (count == 0) has_all_ = false;
    sum.emplace(std::move(part));
  }
  if (failure_ || !has_all_) return;
  try {
    enter(first, end, std::move(sum));
  } catch (const Error& error) {
    failure_ = error;
  }
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
  for (const auto& [first, end, sums, group] : nodes)
    receive(static_cast<std::size_t>(first), static_cast<std::size_t>(end), sums > 0, group);
}

std::optional<ShotPart> ShotSum::total() {
  const MPI_Comm across = groups_.across().handle();
  std::optional<ShotPart> total;
  if (groups_.index() == 0) {
    receive();
    if (!failure_ && has_all_) try {
        if (std::optional<WaitingPart> sum = sum_.take()) total = std::move(*sum).take();
      } catch (const Error& error) {
        failure_ = error;
      }
  } else {
    send();
  }
  groups_.world().agree(failure_ ? failure_->what() : "", failure_ ? static_cast<int>(failure_->code()) : 0);
  std::int64_t numbers = total ? std::ssize(total->numbers) : 0;
  MPI_Bcast(&numbers, 1, MPI_INT64_T, 0, across);
  if (numbers == 0) return std::nullopt;
  if (!total) total.emplace().numbers.resize(static_cast<std::size_t>(numbers));
  MPI_Bcast(total->numbers.data(), static_cast<int>(numbers), MPI_DOUBLE, 0, across);
  return total;
}

}  // namespace hindsight
