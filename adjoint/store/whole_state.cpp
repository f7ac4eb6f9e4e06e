#include "adjoint/store/whole_state.hpp"

namespace hindsight {

WholeState::Turn::Turn(WholeState& whole, std::int64_t number) : whole_(whole) {
  std::unique_lock lock(whole_.mutex_);
  whole_.passed_.wait(lock, [&] { return whole_.next_ == number; });
}

WholeState::Turn::~Turn() {
  {
    const std::scoped_lock lock(whole_.mutex_);
    ++whole_.next_;
  }
  whole_.passed_.notify_all();
}

}  // namespace hindsight
