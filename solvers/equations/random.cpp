#include "solvers/equations/random.hpp"

namespace hindsight {

namespace {

/// For the host and for devices.
const char* const functions = R"(
typedef unsigned int word;
typedef unsigned long long bits;
struct words { bits w[4]; };

FUNCTION double as_double(bits b) { union { bits b; double d; } both; both.b = b; return both.d; }
FUNCTION bits as_bits(double d) { union { bits b; double d; } both; both.d = d; return both.b; }

// Words are kept in 64 bits each, so that rounds vectorise.
FUNCTION struct words random_words(bits cell, bits step, bits seed, bits stream) {
  const bits low = 0xffffffff;
  bits c0 = cell & low, c1 = cell >> 32, c2 = step & low, c3 = step >> 32, k0 = seed, k1 = stream;
UNROLLED
  for (int round = 0; round < 10; ++round) {
    const bits p0 = (bits)(word)c0 * 0xD2511F53u, p1 = (bits)(word)c2 * 0xCD9E8D57u;
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c1 = p1 & low;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c3 = p0 & low;
    k0 = (k0 + 0x9E3779B9) & low;
    k1 = (k1 + 0xBB67AE85) & low;
  }
  const struct words result = {{c0, c1, c2, c3}};
  return result;
}

// (m + 1/2) / 2^52, m of the 52 upper bits.
FUNCTION double unit(bits upper, bits lower) {
  return as_double(0x3ff0000000000000 | (upper << 32 | lower) >> 12) - 0x1.fffffffffffffp-1;
}

// u = m / 2^n with m in (sqrt(1/2), sqrt(2)]; log m = 2 artanh(s), s = (m - 1)/(m + 1).
FUNCTION double minus_log(double u) {
  const bits n = (0x3ff6a09e667f3bcd - as_bits(u)) >> 52;
  const double m = as_double(as_bits(u) + (n << 52)), s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 2.0 / 21;
  p = fma(p, q, 2.0 / 19);
  p = fma(p, q, 2.0 / 17);
  p = fma(p, q, 2.0 / 15);
  p = fma(p, q, 2.0 / 13);
  p = fma(p, q, 2.0 / 11);
  p = fma(p, q, 2.0 / 9);
  p = fma(p, q, 2.0 / 7);
  p = fma(p, q, 2.0 / 5);
  p = fma(p, q, 2.0 / 3);
  p = fma(p, q, 2.0);
  const double powers = as_double(0x4330000000000000 | n) - 0x1p52;
  return fma(powers, 0x1.62e42fefa39efp-1, -(p * s));
}

// cos(2 pi u) = sin(pi/2 y), y = 4 |u - 1/2| - 1, which is exact; the series of the sine.
FUNCTION double cosine_of_turns(double u) {
  const double y = 4.0 * fabs(u - 0.5) - 1.0, q = y * y;
  double p = 0x1.2877020d52cf0p-52;
  p = fma(p, q, -0x1.8a404211f9547p-45);
  p = fma(p, q, 0x1.aaec32af93359p-38);
  p = fma(p, q, -0x1.6fadb9f155744p-31);
  p = fma(p, q, 0x1.e8f434d018d63p-25);
  p = fma(p, q, -0x1.e3074fde8871fp-19);
  p = fma(p, q, 0x1.50783487ee782p-13);
  p = fma(p, q, -0x1.32d2cce62bd86p-8);
  p = fma(p, q, 0x1.466bc6775aae2p-4);
  p = fma(p, q, -0x1.4abbce625be53p-1);
  p = fma(p, q, 0x1.921fb54442d18p+0);
  return p * y;
}

FUNCTION double uniform(struct words r) { return unit(r.w[0], r.w[1]); }
FUNCTION double normal(struct words r) {
  return sqrt(2.0 * minus_log(unit(r.w[0], r.w[1]))) * cosine_of_turns(unit(r.w[2], r.w[3]));
}
)";

const char* const host_names = R"(#define FUNCTION static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 10")
)";

const char* const rows = R"(
void uniform_row(double* cells, const integer* x, integer size, integer row, bits step, bits seed, bits stream) {
#pragma GCC ivdep
  for (integer i = 0; i < size; ++i) {
    const struct words r = random_words(row + x[i], step, seed, stream);
    cells[i] = uniform(r);
  }
}

void normal_row(double* cells, const integer* x, integer size, integer row, bits step, bits seed, bits stream) {
#pragma GCC ivdep
  for (integer i = 0; i < size; ++i) {
    const struct words r = random_words(row + x[i], step, seed, stream);
    cells[i] = normal(r);
  }
}

void philox(const word* counter, const word* key, word* words) {
  const struct words r =
      random_words(counter[0] | (bits)counter[1] << 32, counter[2] | (bits)counter[3] << 32, key[0], key[1]);
  for (int i = 0; i < 4; ++i) words[i] = (word)r.w[i];
}
)";

const char* const device_names = R"(
#define UNROLLED
)";

/// A thread per cell, ghosts included.
const char* const device_fields = R"(
struct random_field {
  integer size[3], stride_y, stride_z, cells_x, cells_y;
  const integer *x, *y, *z;
  double* first;
  bits step, seed, stream;
};
struct uniform_field_arguments { struct random_field field; };
struct normal_field_arguments { struct random_field field; };

FUNCTION struct words words_of(struct random_field f, integer i, integer j, integer k) {
  return random_words((bits)(f.x[i] + f.cells_x * (f.y[j] + f.cells_y * f.z[k])), f.step, f.seed, f.stream);
}

#define EACH_NUMBER(number) \
  EACH_THREAD(128) { \
    const integer at = BLOCK * 128 + thread, i = at % L.field.size[0], j = at / L.field.size[0] % L.field.size[1], \
                  k = at / L.field.size[0] / L.field.size[1]; \
    if (k < L.field.size[2]) \
      L.field.first[i + L.field.stride_y * j + L.field.stride_z * k] = number(words_of(L.field, i, j, k)); \
  }
KERNEL(uniform_field, 128) { EACH_NUMBER(uniform) }
KERNEL(normal_field, 128) { EACH_NUMBER(normal) }
)";

static_assert(sizeof(RandomField) == 14 * 8);

}  // namespace

std::string random_c() {
  return std::string(host::c_names) + host_names + functions + rows;
}

device::ProgramText random_program() {
  return {std::string(device_names) + functions + device_fields, {{"uniform_field", 128}, {"normal_field", 128}}};
}

RandomKernels::RandomKernels(const Communicator& comm)
    : module_(host::compile(random_c(), comm)),
      uniform_(reinterpret_cast<RandomRow>(module_.function("uniform_row"))),
      normal_(reinterpret_cast<RandomRow>(module_.function("normal_row"))),
      philox_(reinterpret_cast<Philox>(module_.function("philox"))) {}

}  // namespace hindsight
