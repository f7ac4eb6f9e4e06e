#include "adjoint/store/pool.hpp"

#include <algorithm>

#include "src/error.hpp"

namespace hindsight {

Pool::Pool(std::int64_t buffers, std::int64_t doubles_each)
    : memory_(buffers * doubles_each), each_(doubles_each), count_(static_cast<std::size_t>(buffers), 0) {
  free_.reserve(count_.size());
  for (std::int64_t i = buffers; i-- > 0;) free_.push_back(i);
}

Buffer Pool::acquire() {
  if (free_.empty()) throw Error(ExitCode::bug, "a memory pool ran out of buffers");
  const std::int64_t index = free_.back();
  free_.pop_back();
  count_[static_cast<std::size_t>(index)] = 1;
  peak_ = std::max(peak_, static_cast<std::int64_t>(count_.size() - free_.size()));
  return {this, index};
}

}  // namespace hindsight
