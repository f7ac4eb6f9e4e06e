#include "adjoint/store/pool.hpp"

#include "runtime/error.hpp"

namespace hindsight {

Pool::Pool(std::int64_t buffers, std::int64_t doubles_each, Machine& machine)
    : memory_(buffers * doubles_each, machine), each_(doubles_each), links_(static_cast<std::size_t>(buffers)) {
  if (buffers > most_buffers) throw Error(ExitCode::bug, "a memory pool of more buffers than can be numbered");
  const auto count = static_cast<std::uint32_t>(buffers);
  for (std::uint32_t i = 0; i < count; ++i) links_[i] = {i + 1 < count ? i + 1 : none, 0};
  first_free_ = count > 0 ? 0 : none;
}

Buffer Pool::acquire(int parts) {
  std::uint32_t first = none;
  for (int i = 0; i < parts; ++i) {
    const std::uint32_t index = take();
    links_[index] = {first, 0};
    first = index;
  }
  links_[first].count = 1;
  return {this, first};
}

void Buffer::data(double** parts) const {
  for (std::uint32_t index = index_; index != Pool::none; index = pool_->links_[index].next)
    *parts++ = pool_->data_of(index);
}

void Pool::fail_empty() {
  throw Error(ExitCode::bug, "a memory pool ran out of buffers");
}

}  // namespace hindsight
