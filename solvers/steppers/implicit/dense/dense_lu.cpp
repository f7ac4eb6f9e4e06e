#include "solvers/steppers/implicit/dense/dense_lu.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace hindsight {
namespace {

constexpr std::size_t sizes = 17;  // n below which the compiler knows n

/// The three of one size; N = 0: of any.
template <int N>
struct Sized {
  static bool factorise(int size, double* a, int* pivots) {
    const int n = N > 0 ? N : size;
    bool are_factors = true;
    for (int k = 0; k < n; ++k) {
      double* const column = a + static_cast<std::ptrdiff_t>(k) * n;
      int pivot = k;
      for (int i = k + 1; i < n; ++i)
        if (std::fabs(column[i]) > std::fabs(column[pivot])) pivot = i;
      pivots[k] = pivot;
      if (pivot != k)
        for (int j = 0; j < n; ++j)
          std::swap(a[k + static_cast<std::ptrdiff_t>(j) * n], a[pivot + static_cast<std::ptrdiff_t>(j) * n]);
      column[k] = 1.0 / column[k];
      are_factors = are_factors && std::isfinite(column[k]) && column[k] != 0.0;
      for (int i = k + 1; i < n; ++i) column[i] *= column[k];
      for (int j = k + 1; j < n; ++j) {
        double* const other = a + static_cast<std::ptrdiff_t>(j) * n;
        const double factor = other[k];
        if (factor == 0.0) continue;
        for (int i = k + 1; i < n; ++i) other[i] -= column[i] * factor;
      }
    }
    return are_factors;
  }

  static void solve(int size, const double* a, const int* pivots, double* x) {
    const int n = N > 0 ? N : size;
    for (int k = 0; k < n; ++k)
      if (pivots[k] != k) std::swap(x[k], x[pivots[k]]);
    for (int k = 0; k < n; ++k) {
      const double* const column = a + static_cast<std::ptrdiff_t>(k) * n;
      const double factor = x[k];
      for (int i = k + 1; i < n; ++i) x[i] -= column[i] * factor;
    }
    for (int k = n - 1; k >= 0; --k) {
      const double* const column = a + static_cast<std::ptrdiff_t>(k) * n;
      const double factor = x[k] *= column[k];
      for (int i = 0; i < k; ++i) x[i] -= column[i] * factor;
    }
  }

  static void solve_transposed(int size, const double* a, const int* pivots, double* x) {
    const int n = N > 0 ? N : size;
    for (int k = 0; k < n; ++k) {
      const double* const column = a + static_cast<std::ptrdiff_t>(k) * n;
      double sum = x[k];
      for (int i = 0; i < k; ++i) sum -= column[i] * x[i];
      x[k] = sum * column[k];
    }
    for (int k = n - 1; k >= 0; --k) {
      const double* const column = a + static_cast<std::ptrdiff_t>(k) * n;
      double sum = x[k];
      for (int i = k + 1; i < n; ++i) sum -= column[i] * x[i];
      x[k] = sum;
    }
    for (int k = n - 1; k >= 0; --k)
      if (pivots[k] != k) std::swap(x[k], x[pivots[k]]);
  }
};

using Factorise = bool (*)(int, double*, int*);
using Solve = void (*)(int, const double*, const int*, double*);

template <std::size_t... N>
constexpr std::array<Factorise, sizes> factorisations(std::index_sequence<N...> /*all*/) {
  return {&Sized<static_cast<int>(N)>::factorise...};
}
template <std::size_t... N>
constexpr std::array<Solve, sizes> solutions(std::index_sequence<N...> /*all*/) {
  return {&Sized<static_cast<int>(N)>::solve...};
}
template <std::size_t... N>
constexpr std::array<Solve, sizes> transposed_solutions(std::index_sequence<N...> /*all*/) {
  return {&Sized<static_cast<int>(N)>::solve_transposed...};
}

std::size_t known(int n) {
  return static_cast<std::size_t>(n) < sizes ? static_cast<std::size_t>(n) : 0;
}

}  // namespace

bool factorise(int n, double* matrix, int* pivots) {
  static constexpr auto all = factorisations(std::make_index_sequence<sizes>());
  return all[known(n)](n, matrix, pivots);
}

void solve(int n, const double* factors, const int* pivots, double* x) {
  static constexpr auto all = solutions(std::make_index_sequence<sizes>());
  all[known(n)](n, factors, pivots, x);
}

void solve_transposed(int n, const double* factors, const int* pivots, double* x) {
  static constexpr auto all = transposed_solutions(std::make_index_sequence<sizes>());
  all[known(n)](n, factors, pivots, x);
}

}  // namespace hindsight
