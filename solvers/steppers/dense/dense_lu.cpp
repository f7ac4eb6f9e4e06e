#include "solvers/steppers/dense/dense_lu.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace hindsight {
namespace {

// N is n where the compiler is to know it, else 0.

template <int N>
void factorise_sized(int size, double* a, int* pivots) {
  const int n = N > 0 ? N : size;
  for (int k = 0; k < n; ++k) {
    double* const row = a + static_cast<std::ptrdiff_t>(k) * n;
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(a[static_cast<std::ptrdiff_t>(i) * n + k]) >
          std::fabs(a[static_cast<std::ptrdiff_t>(pivot) * n + k]))
        pivot = i;
    pivots[k] = pivot;
    if (pivot != k) {
      double* const other = a + static_cast<std::ptrdiff_t>(pivot) * n;
      for (int j = 0; j < n; ++j) std::swap(row[j], other[j]);
    }
    row[k] = 1.0 / row[k];
    for (int i = k + 1; i < n; ++i) {
      double* const below = a + static_cast<std::ptrdiff_t>(i) * n;
      const double factor = below[k] * row[k];
      below[k] = factor;
      if (factor == 0.0) continue;
      for (int j = k + 1; j < n; ++j) below[j] -= factor * row[j];
    }
  }
}

template <int N>
void solve_sized(int size, const double* a, const int* pivots, double* x) {
  const int n = N > 0 ? N : size;
  for (int k = 0; k < n; ++k)
    if (pivots[k] != k) std::swap(x[k], x[pivots[k]]);
  for (int i = 1; i < n; ++i) {
    double sum = x[i];
    for (int j = 0; j < i; ++j) sum -= a[static_cast<std::ptrdiff_t>(i) * n + j] * x[j];
    x[i] = sum;
  }
  for (int i = n - 1; i >= 0; --i) {
    double sum = x[i];
    for (int j = i + 1; j < n; ++j) sum -= a[static_cast<std::ptrdiff_t>(i) * n + j] * x[j];
    x[i] = sum * a[static_cast<std::ptrdiff_t>(i) * n + i];
  }
}

template <int N>
void solve_transposed_sized(int size, const double* a, const int* pivots, double* x) {
  const int n = N > 0 ? N : size;
  for (int i = 0; i < n; ++i) {
    const double* const row = a + static_cast<std::ptrdiff_t>(i) * n;
    x[i] *= row[i];
    for (int j = i + 1; j < n; ++j) x[j] -= row[j] * x[i];
  }
  for (int i = n - 1; i > 0; --i) {
    const double* const row = a + static_cast<std::ptrdiff_t>(i) * n;
    for (int j = 0; j < i; ++j) x[j] -= row[j] * x[i];
  }
  for (int k = n - 1; k >= 0; --k)
    if (pivots[k] != k) std::swap(x[k], x[pivots[k]]);
}

}  // namespace

void factorise(int n, double* matrix, int* pivots) {
  switch (n) {
    case 1:
      return factorise_sized<1>(n, matrix, pivots);
    case 2:
      return factorise_sized<2>(n, matrix, pivots);
    case 3:
      return factorise_sized<3>(n, matrix, pivots);
    case 4:
      return factorise_sized<4>(n, matrix, pivots);
    default:
      return factorise_sized<0>(n, matrix, pivots);
  }
}

void solve(int n, const double* factors, const int* pivots, double* x) {
  switch (n) {
    case 1:
      return solve_sized<1>(n, factors, pivots, x);
    case 2:
      return solve_sized<2>(n, factors, pivots, x);
    case 3:
      return solve_sized<3>(n, factors, pivots, x);
    case 4:
      return solve_sized<4>(n, factors, pivots, x);
    default:
      return solve_sized<0>(n, factors, pivots, x);
  }
}

void solve_transposed(int n, const double* factors, const int* pivots, double* x) {
  switch (n) {
    case 1:
      return solve_transposed_sized<1>(n, factors, pivots, x);
    case 2:
      return solve_transposed_sized<2>(n, factors, pivots, x);
    case 3:
      return solve_transposed_sized<3>(n, factors, pivots, x);
    case 4:
      return solve_transposed_sized<4>(n, factors, pivots, x);
    default:
      return solve_transposed_sized<0>(n, factors, pivots, x);
  }
}

}  // namespace hindsight
