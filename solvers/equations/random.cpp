#include "solvers/equations/random.hpp"

namespace hindsight {

std::string random_c() {
  return R"(typedef long long integer;
typedef unsigned int word;
typedef unsigned long long bits;
struct words { bits w[4]; };

static inline double as_double(bits b) { double d; __builtin_memcpy(&d, &b, 8); return d; }
static inline bits as_bits(double d) { bits b; __builtin_memcpy(&b, &d, 8); return b; }

// Words are kept in 64 bits each, so that rounds vectorise.
static inline __attribute__((always_inline)) struct words random_words(bits cell, bits step, bits seed, bits stream) {
  const bits low = 0xffffffff;
  bits c0 = cell & low, c1 = cell >> 32, c2 = step & low, c3 = step >> 32, k0 = seed, k1 = stream;
#pragma GCC unroll 10
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
static inline double unit(bits upper, bits lower) {
  return as_double(0x3ff0000000000000 | (upper << 32 | lower) >> 12) - 0x1.fffffffffffffp-1;
}

// u = m / 2^n with m in (sqrt(1/2), sqrt(2)]; log m = 2 artanh(s), s = (m - 1)/(m + 1).
static inline double minus_log(double u) {
  const bits n = (0x3ff6a09e667f3bcd - as_bits(u)) >> 52;
  const double m = as_double(as_bits(u) + (n << 52)), s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 2.0 / 21;
  p = __builtin_fma(p, q, 2.0 / 19);
  p = __builtin_fma(p, q, 2.0 / 17);
  p = __builtin_fma(p, q, 2.0 / 15);
  p = __builtin_fma(p, q, 2.0 / 13);
  p = __builtin_fma(p, q, 2.0 / 11);
  p = __builtin_fma(p, q, 2.0 / 9);
  p = __builtin_fma(p, q, 2.0 / 7);
  p = __builtin_fma(p, q, 2.0 / 5);
  p = __builtin_fma(p, q, 2.0 / 3);
  p = __builtin_fma(p, q, 2.0);
  const double powers = as_double(0x4330000000000000 | n) - 0x1p52;
  return __builtin_fma(powers, 0x1.62e42fefa39efp-1, -(p * s));
}

// cos(2 pi u) = sin(pi/2 y), y = 4 |u - 1/2| - 1, which is exact; the series of the sine.
static inline double cosine_of_turns(double u) {
  const double y = 4.0 * __builtin_fabs(u - 0.5) - 1.0, q = y * y;
  double p = 0x1.2877020d52cf0p-52;
  p = __builtin_fma(p, q, -0x1.8a404211f9547p-45);
  p = __builtin_fma(p, q, 0x1.aaec32af93359p-38);
  p = __builtin_fma(p, q, -0x1.6fadb9f155744p-31);
  p = __builtin_fma(p, q, 0x1.e8f434d018d63p-25);
  p = __builtin_fma(p, q, -0x1.e3074fde8871fp-19);
  p = __builtin_fma(p, q, 0x1.50783487ee782p-13);
  p = __builtin_fma(p, q, -0x1.32d2cce62bd86p-8);
  p = __builtin_fma(p, q, 0x1.466bc6775aae2p-4);
  p = __builtin_fma(p, q, -0x1.4abbce625be53p-1);
  p = __builtin_fma(p, q, 0x1.921fb54442d18p+0);
  return p * y;
}

void uniform_row(double* cells, const integer* x, integer size, integer row, bits step, bits seed, bits stream) {
#pragma GCC ivdep
  for (integer i = 0; i < size; ++i) {
    const struct words r = random_words(row + x[i], step, seed, stream);
    cells[i] = unit(r.w[0], r.w[1]);
  }
}

void normal_row(double* cells, const integer* x, integer size, integer row, bits step, bits seed, bits stream) {
#pragma GCC ivdep
  for (integer i = 0; i < size; ++i) {
    const struct words r = random_words(row + x[i], step, seed, stream);
    cells[i] = __builtin_sqrt(2.0 * minus_log(unit(r.w[0], r.w[1]))) * cosine_of_turns(unit(r.w[2], r.w[3]));
  }
}

void philox(const word* counter, const word* key, word* words) {
  const struct words r =
      random_words(counter[0] | (bits)counter[1] << 32, counter[2] | (bits)counter[3] << 32, key[0], key[1]);
  for (int i = 0; i < 4; ++i) words[i] = (word)r.w[i];
}
)";
}

RandomKernels::RandomKernels(const Communicator& comm)
    : module_(host::compile(random_c(), comm)),
      uniform_(reinterpret_cast<RandomRow>(module_.function("uniform_row"))),
      normal_(reinterpret_cast<RandomRow>(module_.function("normal_row"))),
      philox_(reinterpret_cast<Philox>(module_.function("philox"))) {}

}  // namespace hindsight
