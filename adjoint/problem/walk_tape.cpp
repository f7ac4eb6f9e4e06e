#include "adjoint/problem/walk_tape.hpp"

#include "adjoint/problem/state_arrays.hpp"

namespace hindsight {

void WalkTape::reserve(std::int64_t steps) {
  const std::int64_t doubles = steps * shape_.padded_doubles;
  if (memory_.size() == doubles) return;
  memory_ = Memory();
  if (doubles > 0) memory_ = Memory(doubles);
}

void WalkTape::save(BlockWriter& to) const {
  const std::int64_t steps = is_in_use_ ? written_ : 0;
  to.archive().write(steps);
  for (std::int64_t step = 0; step < steps; ++step)
    save_arrays(to, shape_.arrays, memory_.data() + step * shape_.padded_doubles);
}

void WalkTape::restore(BlockReader& from) {
  from.read(written_);
  for (std::int64_t step = 0; step < written_; ++step)
    restore_arrays(from, shape_.arrays, memory_.data() + step * shape_.padded_doubles);
}

}  // namespace hindsight
