// What a simulation needs of memory at least, known before anything is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host_memory.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/time/step_rules.hpp"

namespace hindsight {

/// Of one rank; ghosts and what does not grow with the cells are left out.
struct LeastMemory {
  std::int64_t states = 0;             ///< at work at the same time
  std::int64_t state_fields = 0;       ///< fields of a state
  std::int64_t other_fields = 0;       ///< parameters, their derivatives, random numbers
  Element element = Element::float64;  ///< of all of them
};

/// @throws ResourceError, on all ranks, naming what is needed and what there is, when a rank's machine has less.
/// Collective. @param known of this rank's node; none: its ranks are those of `comm`.
void require_memory(const LeastMemory& least, const std::vector<Axis>& axes, const Communicator& comm,
                    const Machine& machine, const std::optional<NodeMemory>& known = {});

/// Bytes in which a time line records so many steps that are decided one by one: it reserves them at once.
std::int64_t recorded_bytes(std::int64_t steps);

/// @throws ResourceError, on all ranks, when a rank's machine cannot hold the record of as many steps as the rules
/// allow, where they are decided one by one. Collective. @param known as above.
void require_memory_of_steps(const std::string& steps, const StepRules& rules, const Communicator& comm,
                             const std::optional<NodeMemory>& known = {});

}  // namespace hindsight
