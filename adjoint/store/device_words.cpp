#include "adjoint/store/device_words.hpp"

#include <algorithm>

#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

constexpr int threads = 256;              // as in the text
constexpr std::int64_t most_blocks = 64;  // that share a field's magnitudes

// Conversions are those of the codecs that make words, bit by bit. A thread per cell.
const char* const text = R"(
struct conversion { integer cells[3], stride_y, stride_z; double* first; void* words; double scale, per_scale; };
struct largest_of_arguments { integer cells[3], stride_y, stride_z, blocks; double *first, *most; };
union double_bits { double value; unsigned long long bits; };
union float_bits { float value; unsigned bits; };

KERNEL(largest_of, 256) {
  SHARED double own[256];
  EACH_THREAD(256) {
    const unsigned x = L.cells[0], y = L.cells[1], count = x * y * (unsigned)L.cells[2];
    double most = 0.0;
    for (unsigned n = (unsigned)BLOCK * 256u + thread; n < count; n += 256u * (unsigned)L.blocks) {
      const double value = L.first[n % x + L.stride_y * (n / x % y) + L.stride_z * (n / x / y)];
      const double magnitude = value - value == 0.0 ? fabs(value) : infinity;
      most = magnitude > most ? magnitude : most;
    }
    own[thread] = most;
  }
  EACH_THREAD(256) if (thread == 0) {
    double most = 0.0;
    for (int t = 0; t < 256; ++t) most = own[t] > most ? own[t] : most;
    L.most[BLOCK] = most;
  }
}

#define CONVERSION(name) struct name##_arguments { struct conversion of; }; KERNEL(name, 256)
#define EACH_WORD \
  EACH_THREAD(256) for (unsigned n = (unsigned)BLOCK * 256u + thread, x = L.of.cells[0], y = L.of.cells[1], \
                        i = n % x, j = n / x % y, k = n / x / y; k < L.of.cells[2]; k = L.of.cells[2])
#define CELL L.of.first[i + L.of.stride_y * j + L.of.stride_z * k]
#define WORD(type) ((type*)L.of.words)[n]
#define NEAREST(value) ((value) + 6755399441055744.0 - 6755399441055744.0)

CONVERSION(to_float32) { EACH_WORD WORD(float) = (float)CELL; }
CONVERSION(of_float32) { EACH_WORD CELL = (double)WORD(float); }

CONVERSION(to_bfloat16) {
  EACH_WORD {
    union double_bits wide;
    union float_bits narrow;
    wide.value = CELL;
    wide.bits = (wide.bits + 0xfffffffffffull + (wide.bits >> 45 & 1)) & ~0x1fffffffffffull;
    narrow.value = (float)wide.value;
    WORD(unsigned short) = (unsigned short)((narrow.bits + 0x7fffu + (narrow.bits >> 16 & 1u)) >> 16);
  }
}
CONVERSION(of_bfloat16) {
  EACH_WORD {
    union float_bits narrow;
    narrow.bits = (unsigned)WORD(unsigned short) << 16;
    CELL = (double)narrow.value;
  }
}

CONVERSION(to_multiples32) { EACH_WORD WORD(int) = (int)NEAREST(CELL * L.of.per_scale); }
CONVERSION(of_multiples32) { EACH_WORD CELL = (double)WORD(int) * L.of.scale; }
CONVERSION(to_multiples64) { EACH_WORD WORD(integer) = (integer)NEAREST(CELL * L.of.per_scale); }
CONVERSION(of_multiples64) { EACH_WORD CELL = (double)WORD(integer) * L.of.scale; }
)";

const std::vector<device::KernelName> names = {
    {"largest_of", threads},     {"to_float32", threads},     {"of_float32", threads},
    {"to_bfloat16", threads},    {"of_bfloat16", threads},    {"to_multiples32", threads},
    {"of_multiples32", threads}, {"to_multiples64", threads}, {"of_multiples64", threads}};

std::size_t kernel_to(Words kind) {
  return 1 + 2 * static_cast<std::size_t>(kind);
}

/// The structs of the text.
struct Conversion {
  std::array<std::int64_t, 3> cells;
  std::int64_t stride_y, stride_z;
  double* first;
  void* words;
  double scale, per_scale;
};
struct LargestArguments {
  std::array<std::int64_t, 3> cells;
  std::int64_t stride_y, stride_z, blocks;
  double *first, *most;
};
static_assert(sizeof(Conversion) == 9 * 8 && sizeof(LargestArguments) == 8 * 8);  // without gaps

/// Of each array: they are alike.
std::int64_t cells_of(const StateShape& shape) {
  return shape.arrays.front().count();
}

std::int64_t fields_of(const StateShape& shape) {
  return std::ssize(shape.arrays);
}

/// Of all words, in doubles.
std::int64_t doubles_of(Words kind, const StateShape& shape) {
  return (shape.doubles() * bytes_of(kind) + 7) / 8;
}

std::int64_t blocks_of(const StateShape& shape) {
  return (cells_of(shape) + threads - 1) / threads;
}

std::int64_t parts_of(const StateShape& shape) {
  return std::min(most_blocks, blocks_of(shape));
}

}  // namespace

device::ProgramText words_program() {
  return {text, names};
}

DeviceWords::DeviceWords(Words kind, const StateShape& shape, Machine& machine, device::Program& program, Link& link)
    : kind_(kind),
      shape_(shape),
      program_(program),
      link_(link),
      host_(Memory::pages(8 * doubles_of(kind, shape), machine.near_host())),
      device_(doubles_of(kind, shape), machine),
      device_parts_(fields_of(shape) * parts_of(shape), machine),
      parts_(static_cast<std::size_t>(device_parts_.size())),
      largest_(static_cast<std::size_t>(fields_of(shape))),
      scales_(static_cast<std::size_t>(fields_of(shape))) {}

bool DeviceWords::can_take(const StateShape& shape) {
  return shape.levels == 1 && shape.is_uniform() && cells_of(shape) <= std::int64_t{1} << 31U;
}

std::int64_t DeviceWords::device_bytes(Words kind, const StateShape& shape) {
  return Memory::bytes_of(doubles_of(kind, shape)) + Memory::bytes_of(fields_of(shape) * parts_of(shape));
}

std::int64_t DeviceWords::host_bytes(Words kind, const StateShape& shape) {
  return rounded_up(8 * doubles_of(kind, shape), transfer_block) + 8 * fields_of(shape) * (parts_of(shape) + 2);
}

const double* DeviceWords::largest_magnitudes(const double* state) {
  const std::int64_t parts = parts_of(shape_);
  double* part = device_parts_.data();
  for (const StateArray& a : shape_.arrays) {
    double* const first = const_cast<double*>(state) + a.origin;  // it only reads
    const LargestArguments arguments{a.cells, a.stride_y, a.stride_z, parts, first, part};
    link_.run(program_, 0, device::Arguments(arguments), parts);
    part += parts;
  }
  link_.copy(parts_.data(), device_parts_.data(), device_parts_.size());
  for (std::int64_t f = 0; f < fields_of(shape_); ++f)
    largest_[static_cast<std::size_t>(f)] =
        *std::max_element(parts_.begin() + f * parts, parts_.begin() + (f + 1) * parts);
  return largest_.data();
}

void DeviceWords::convert(std::size_t kernel, double* state, const double* scales) {
  char* words = reinterpret_cast<char*>(device_.data());
  for (const StateArray& a : shape_.arrays) {
    const double scale = *scales++;
    const Conversion arguments{a.cells, a.stride_y, a.stride_z, state + a.origin, words, scale, 1 / scale};
    link_.run(program_, kernel, device::Arguments(arguments), blocks_of(shape_));
    words += a.count() * bytes_of(kind_);
  }
}

void DeviceWords::bring(double* state, const double* scales) {
  convert(kernel_to(kind_), state, scales);
  link_.copy(host_.data(), device_.data(), device_.size());
}

void DeviceWords::take(double* state, const double* scales) {
  link_.copy(device_.data(), host_.data(), device_.size());
  convert(kernel_to(kind_) + 1, state, scales);
  link_.finish();
}

}  // namespace hindsight
