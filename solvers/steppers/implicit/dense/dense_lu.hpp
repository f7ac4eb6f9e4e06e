// Small dense systems: LU factors with partial pivoting, by columns, without calls into a library for each.
#pragma once

namespace hindsight {

/// Replaces the n x n matrix (entry (i,j) at i + n*j) by its factors: L, its diagonal of ones left out, below U, with
/// 1 / U_ii on the diagonal. Rows are swapped as `pivots` (n of them) say. @returns whether these are factors: not
/// where the matrix is singular, or a pivot is not finite.
bool factorise(int n, double* matrix, int* pivots);
/// x becomes A^-1 x.
void solve(int n, const double* factors, const int* pivots, double* x);
/// x becomes A^-T x.
void solve_transposed(int n, const double* factors, const int* pivots, double* x);

}  // namespace hindsight
