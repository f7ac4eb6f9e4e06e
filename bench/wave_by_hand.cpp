#include "bench/wave_by_hand.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hindsight::bench {
namespace {

/// As programs that are linked with -ffast-math have it: subnormals are zeros. Threads that start meanwhile have it
/// too.
class FlushSubnormals {
#if defined(__SSE__)
 public:
  FlushSubnormals() : mode_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(mode_ | 0x8040);
  }
  ~FlushSubnormals() {
    __builtin_ia32_ldmxcsr(mode_);
  }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned mode_;
#endif
};

constexpr int reach = 4;
constexpr double step = 0.003, spacing = 0.03;

template <class Real>
inline Real laplacian(const Real* u, std::ptrdiff_t stride) {
  constexpr Real c0 = static_cast<Real>(-2 * 205.0 / 72), c1 = static_cast<Real>(8.0 / 5),
                 c2 = static_cast<Real>(-1.0 / 5), c3 = static_cast<Real>(8.0 / 315),
                 c4 = static_cast<Real>(-1.0 / 560);
  return c0 * u[0] + c1 * (u[-1] + u[1] + u[-stride] + u[stride]) +
         c2 * (u[-2] + u[2] + u[-2 * stride] + u[2 * stride]) + c3 * (u[-3] + u[3] + u[-3 * stride] + u[3 * stride]) +
         c4 * (u[-4] + u[4] + u[-4 * stride] + u[4 * stride]);
}

double wavelet(int n) {
  const double x = std::numbers::pi * 4 * (n * step - 0.3);
  return (1 - 2 * x * x) * std::exp(-x * x);
}

}  // namespace

template <class Real>
std::size_t WaveByHand<Real>::place(int i, int j) const {
  return static_cast<std::size_t>((j + reach) * stride_ + i + 16);
}

template <class Real>
WaveByHand<Real>::WaveByHand(int nx, int nz, int steps, int threads)
    : nx_(nx), nz_(nz), steps_(steps), threads_(threads), stride_((nx + 47) / 16 * 16) {
  const auto size = static_cast<std::size_t>((nz + 2 * reach) * stride_ + 64);
  for (Array* array : {&k_, &sponge_, &a_, &b_, &mu_, &mu_next_, &gradient_}) array->assign(size, 0);
  for (int j = 0; j < nz; ++j)
    for (int i = 0; i < nx; ++i) {
      const double c = 1.5 + 3.0 * j / nz, x = std::max({0, 25 - i, i - (nx - 26)}), z = std::max(0, j - (nz - 26));
      *at(k_, i, j) = static_cast<Real>(c * c * step * step / (spacing * spacing));
      *at(sponge_, i, j) = static_cast<Real>(step * 60 * (x * x + z * z) / 625);
    }
  history_.assign(static_cast<std::size_t>(steps) + 2, Array());
  for (Array& level : history_) level.assign(size, 0);
}

template <class Real>
void WaveByHand<Real>::inject(Array& u, int n) const {
  u[place(nx_ / 2, 1)] += static_cast<Real>(wavelet(n));
  mirror(u);
}

template <class Real>
void WaveByHand<Real>::mirror(Array& u) const {
  for (int j = 1; j <= reach; ++j)
    for (int i = 0; i < nx_; ++i) u[place(i, -j)] = -u[place(i, j - 1)];
}

template <class Real>
void WaveByHand<Real>::forward() {
  [[maybe_unused]] const FlushSubnormals flushed;
  std::fill(a_.begin(), a_.end(), Real(0));
  std::fill(b_.begin(), b_.end(), Real(0));
  for (int n = 0; n < steps_; ++n) {
    inject(b_, n);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int j = 0; j < nz_; ++j) {
      const Real *u = at(b_, 0, j), *k = at(k_, 0, j), *s = at(sponge_, 0, j);
      Real* next = at(a_, 0, j);
#pragma GCC ivdep
      for (int i = 0; i < nx_; ++i)
        next[i] = k[i] * laplacian(u + i, stride_) + (2 - s[i]) * u[i] - (1 - s[i]) * next[i];
    }
    std::swap(a_, b_);
  }
}

template <class Real>
void WaveByHand<Real>::forward_kept() {
  [[maybe_unused]] const FlushSubnormals flushed;
  std::fill(history_[0].begin(), history_[0].end(), Real(0));
  std::fill(history_[1].begin(), history_[1].end(), Real(0));
  for (int n = 0; n < steps_; ++n) {
    const auto now = static_cast<std::size_t>(n) + 1;
    inject(history_[now], n);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int j = 0; j < nz_; ++j) {
      const Real *u = at(history_[now], 0, j), *v = at(history_[now - 1], 0, j), *k = at(k_, 0, j),
                 *s = at(sponge_, 0, j);
      Real* next = at(history_[now + 1], 0, j);
#pragma GCC ivdep
      for (int i = 0; i < nx_; ++i) next[i] = k[i] * laplacian(u + i, stride_) + (2 - s[i]) * u[i] - (1 - s[i]) * v[i];
    }
  }
}

/// With lambda of the levels in a (older) and b, and mu = k lambda: lambda' = lap(mu) + (2 - s) b - (1 - s) a.
template <class Real>
void WaveByHand<Real>::adjoint() {
  [[maybe_unused]] const FlushSubnormals flushed;
  for (Array* array : {&a_, &b_, &mu_, &mu_next_}) std::fill(array->begin(), array->end(), Real(0));
  for (int n = steps_ - 1; n >= 0; --n) {
    const auto now = static_cast<std::size_t>(n) + 1;
    for (int i = 25; i < nx_ - 25; i += 2) b_[place(i, 1)] += history_[now + 1][place(i, 1)];
    for (int i = 0; i < nx_; ++i) mu_[place(i, 1)] = k_[place(i, 1)] * b_[place(i, 1)];
    mirror(mu_);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int j = 0; j < nz_; ++j) {
      const Real *m = at(mu_, 0, j), *lambda = at(b_, 0, j), *s = at(sponge_, 0, j), *k = at(k_, 0, j),
                 *u = at(history_[now], 0, j);
      Real *before = at(a_, 0, j), *m_next = at(mu_next_, 0, j), *g = at(gradient_, 0, j);
#pragma GCC ivdep
      for (int i = 0; i < nx_; ++i) {
        g[i] += lambda[i] * laplacian(u + i, stride_);
        const Real next = laplacian(m + i, stride_) + (2 - s[i]) * lambda[i] - (1 - s[i]) * before[i];
        before[i] = next;
        m_next[i] = k[i] * next;
      }
    }
    std::swap(a_, b_);
    std::swap(mu_, mu_next_);
  }
}

template <class Real>
double WaveByHand<Real>::checksum() const {
  double sum = 0;
  for (const Real value : b_) sum += std::fabs(static_cast<double>(value));
  for (const Real value : gradient_) sum += std::fabs(static_cast<double>(value));
  return sum;
}

template class WaveByHand<float>;
template class WaveByHand<double>;

}  // namespace hindsight::bench
