#include "adjoint/problem/walk_tape.hpp"

#include "adjoint/problem/state_arrays.hpp"

namespace hindsight {

void WalkTape::reserve(std::int64_t steps) {
  constexpr std::int64_t most_bytes = 1 << 20;
  if (steps > 0 && is_needed())
    logged_at_once_ =
        std::max<std::int64_t>(1, most_bytes / std::max<std::int64_t>(1, communicator_.max(bytes_per_step())));
  const std::int64_t doubles = steps * shape_.padded_doubles;
  if (memory_.size() == doubles) return;
  memory_ = Memory();
  if (doubles > 0) memory_ = Memory(doubles);
}

void WalkTape::save(BlockWriter& to, SweepKeeper& keeper) {
  const std::int64_t steps = is_in_use_ ? written_ : 0;
  for (std::int64_t first = logged_.empty() ? 0 : logged_.back().end(); first < steps;) {
    const std::int64_t count = std::min(logged_at_once_, steps - first);
    const std::int64_t place = keeper.log_piece(logged_.empty(), [&](BlockWriter& piece) {
      for (std::int64_t step = first; step < first + count; ++step) save_arrays(piece, shape_.arrays, of(step));
    });
    logged_.push_back({first, count, place});
    first += count;
  }
  ArchiveWriter& archive = to.archive();
  archive.begin("left behind");
  archive.write(steps);
  archive.write(keeper.log_file());
  archive.write(steps > 0 ? logged_.size() : 0);
  for (std::size_t i = 0; i < logged_.size() && steps > 0; ++i)
    for (const std::int64_t number : {logged_[i].first, logged_[i].count, logged_[i].place}) archive.write(number);
  archive.end();
}

void WalkTape::restore(BlockReader& from, SweepKeeper& keeper) {
  from.begin("left behind");
  from.read(written_);
  const int file = from.get<int>();
  for (std::size_t pieces = from.get<std::size_t>(); pieces > 0; --pieces) {
    const auto first = from.get<std::int64_t>(), count = from.get<std::int64_t>();
    const std::vector<std::int64_t> places = from.all<std::int64_t>();
    if (first >= written_) continue;
    keeper.read_logged(file, places, [&](BlockReader& piece) {
      for (std::int64_t step = first; step < std::min(first + count, written_); ++step)
        restore_arrays(piece, shape_.arrays, of(step));
    });
  }
  from.end();
}

}  // namespace hindsight
