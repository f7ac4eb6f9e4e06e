// Which cells of an unknown field are unknown.
#pragma once

#include <cstdint>
#include <vector>

#include "adjoint/problem/discretisation.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Which values of an unknown move on this rank. The others rest: they keep their first values.
class MovingCells {
 public:
  /// All of them.
  MovingCells() = default;
  /// The owned cells in which the unknown's condition (Unknown::where) is not 0, with the values that parameters have
  /// now; the host evaluates it, whatever the machine, so that all decide alike. Collective. @param parameter_fields
  /// their symbols. @throws InputError when it holds nowhere.
  MovingCells(const Unknown& unknown, const Discretisation& problem, const std::vector<int>& parameter_fields);

  bool operator[](std::size_t value) const { return moves_.empty() || moves_[value] != 0; }
  /// The values, and zeros in place of those that rest.
  std::vector<double> only(std::vector<double> values) const;

 private:
  CountedVector<std::uint8_t> moves_;  // by owned cell; empty: all
};

}  // namespace hindsight
