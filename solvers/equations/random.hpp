// Random numbers by a counter-based generator, as compiled kernels.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC'11) turns a counter of
// four words and a key of two into four random words. Here the counter is {cell, step}, 64 bits each, and the key
// {seed, stream}; so every number can be had again at any time, in any order, on any rank.
//
// Everything is made of integer operations, + - * / sqrt and fma on double: a number has the same bits on every machine
// and for every vector width. No function of the math library is called.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/device_program.hpp"
#include "runtime/host/compiler.hpp"

namespace hindsight {

/// C source of the kernels.
std::string random_c();

/// What devices run: uniform_field and normal_field, which take a RandomField and a thread per number, 128 in a block.
device::ProgramText random_program();

/// An array to be filled on a device, in words of 8 bytes: number (i,j,k), at first[i + stride_y j + stride_z k], is
/// that of cell x[i] + cells_x (y[j] + cells_y z[k]).
struct RandomField {
  std::array<std::int64_t, 3> size{};
  std::int64_t stride_y = 0, stride_z = 0, cells_x = 0, cells_y = 0;
  std::array<const double*, 3> places{};  ///< x, y, z: integers in arrays of the device's
  double* first = nullptr;
  std::uint64_t step = 0, seed = 0, stream = 0;
};

/// Writes numbers to cells[0..size), that of cell x[i] + row to cells[i].
using RandomRow = void (*)(double* cells, const std::int64_t* x, std::int64_t size, std::int64_t row,
                           std::uint64_t step, std::uint64_t seed, std::uint64_t stream);

/// The kernels, loaded. Traffic: 8 bytes read and written per cell.
class RandomKernels {
 public:
  /// Collective.
  explicit RandomKernels(const Communicator& comm);
  /// In (0, 1), without its ends: odd multiples of 2^-53, made of the words 0 and 1.
  RandomRow uniform() const { return uniform_; }
  /// Standard normal, by Box and Muller: sqrt(-2 log a) cos(2 pi b), a of the words 0 and 1, b of 2 and 3. At most 8.6
  /// in magnitude; right to a few units in the last place.
  RandomRow normal() const { return normal_; }
  /// words[0..4) of counter[0..4) and key[0..2).
  using Philox = void (*)(const std::uint32_t* counter, const std::uint32_t* key, std::uint32_t* words);
  Philox philox() const { return philox_; }

 private:
  host::Module module_;
  RandomRow uniform_, normal_;
  Philox philox_;
};

}  // namespace hindsight
