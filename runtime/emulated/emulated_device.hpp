// A device without one: programs for devices run by the host, on memory that nobody else can touch (unless it is open
// to MPI), as late as they may be, their blocks and threads in an order.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/emulated/emulate.hpp"
#include "runtime/machine.hpp"

namespace hindsight::emulated {

/// What an emulated device is like.
struct Traits {
  std::int64_t bytes = std::int64_t{1} << 30U;
  Order order = Order::forwards;
  bool is_open_to_mpi = false;
};

std::unique_ptr<Machine> open_machine(const Traits& traits = {});

}  // namespace hindsight::emulated
