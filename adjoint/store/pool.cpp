#include "adjoint/store/pool.hpp"

#include "src/error.hpp"

namespace hindsight {

Pool::Pool(std::int64_t buffers, std::int64_t doubles_each)
    : memory_(buffers * doubles_each),
      each_(doubles_each),
      count_(static_cast<std::size_t>(buffers), 0),
      free_(static_cast<std::size_t>(buffers)),
      free_count_(static_cast<std::size_t>(buffers)) {
  for (std::int64_t i = 0; i < buffers; ++i) free_[static_cast<std::size_t>(i)] = buffers - 1 - i;
}

void Pool::fail_empty() {
  throw Error(ExitCode::bug, "a memory pool ran out of buffers");
}

}  // namespace hindsight
