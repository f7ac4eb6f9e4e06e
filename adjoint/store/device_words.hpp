// States of a device as shorter words: made where the states are, so that less goes over the link.
#pragma once

#include <cstdint>

#include "adjoint/store/codec.hpp"
#include "runtime/device_program.hpp"
#include "runtime/machine.hpp"
#include "runtime/memory.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

/// What devices run for DeviceWords.
device::ProgramText words_program();

/// Of one transfer thread. Traffic on the device: a state read twice and its words written once, and back both once;
/// over the link the words.
class DeviceWords {
 public:
  /// @param machine a device. @param program words_program(), loaded there. @param link the thread's. All outlive it.
  DeviceWords(Words kind, const StateShape& shape, Machine& machine, device::Program& program, Link& link);
  /// Of each field; infinity where a cell is not finite.
  const double* largest_magnitudes(const double* state);
  /// The owned cells' words come into words().
  void bring(double* state, const double* scales);
  /// What is in words() becomes the state's owned cells.
  void take(double* state, const double* scales);
  /// On the host: of all fields, one after another, row after row.
  char* words() const { return reinterpret_cast<char*>(host_.data()); }
  /// Per field, for the callers of bring() and take().
  double* scales() { return scales_.data(); }

  /// Whether all arrays are alike, doubles, and in one block, and their cells can be counted.
  static bool can_take(const StateShape& shape);
  static std::int64_t device_bytes(Words kind, const StateShape& shape);
  static std::int64_t host_bytes(Words kind, const StateShape& shape);

 private:
  void convert(std::size_t kernel, double* state, const double* scales);

  Words kind_;
  StateShape shape_;
  device::Program& program_;
  Link& link_;
  Memory host_, device_, device_parts_;  // parts: magnitudes of the blocks
  CountedVector<double> parts_, largest_, scales_;
};

}  // namespace hindsight
