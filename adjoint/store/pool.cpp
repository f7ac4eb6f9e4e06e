#include "adjoint/store/pool.hpp"

#include "src/error.hpp"

namespace hindsight {

Pool::Pool(std::int64_t buffers, std::int64_t doubles_each, Machine& machine)
    : memory_(buffers * doubles_each, machine),
      each_(doubles_each),
      count_(static_cast<std::size_t>(buffers), 0),
      next_(static_cast<std::size_t>(buffers), none),
      free_(static_cast<std::size_t>(buffers)),
      free_count_(static_cast<std::size_t>(buffers)) {
  for (std::int64_t i = 0; i < buffers; ++i) free_[static_cast<std::size_t>(i)] = buffers - 1 - i;
}

Buffer Pool::acquire(int parts) {
  std::int64_t first = none;
  for (int i = 0; i < parts; ++i) {
    const std::int64_t index = take();
    next_[static_cast<std::size_t>(index)] = first;
    first = index;
  }
  count_[static_cast<std::size_t>(first)] = 1;
  return {this, first};
}

void Buffer::data(double** parts) const {
  for (std::int64_t index = index_; index != Pool::none; index = pool_->next_[static_cast<std::size_t>(index)])
    *parts++ = pool_->memory_.data() + index * pool_->each_;
}

void Pool::fail_empty() {
  throw Error(ExitCode::bug, "a memory pool ran out of buffers");
}

}  // namespace hindsight
