#!/usr/bin/env python3
"""Usage: robertson.py END [DIGITS]
Robertson's problem, G = the integral of its third species from 0 to END, and dG/dp, in multiple precision: an
independent reference for tests and benchmarks (python3-mpmath).

Extrapolated linearly implicit Euler steps (Hairer, Wanner, Solving ODEs II, IV.9) whose lengths the first run chooses;
derivatives are differences of runs of the same steps with p changed by 1e-25 of itself, at 60 digits."""
import sys
from mpmath import mp, mpf

mp.dps = 60
COLUMNS = 12


def rhs(p, y):
    a, b, c, _ = y
    r1, r2, r3 = p[0] * a, p[1] * b * c, p[2] * b * b
    return [-r1 + r2, r1 - r2 - r3, r3, c]


def jacobian(p, y):
    _, b, c, _ = y
    return [[-p[0], p[1] * c, p[1] * b, 0], [p[0], -p[1] * c - 2 * p[2] * b, -p[1] * b, 0], [0, 2 * p[2] * b, 0, 0],
            [0, 0, 1, 0]]


def factors(matrix):
    """LU without pivoting: I - h J of this problem needs none."""
    n = len(matrix)
    lu = [row[:] for row in matrix]
    for k in range(n):
        for i in range(k + 1, n):
            lu[i][k] /= lu[k][k]
            for j in range(k + 1, n):
                lu[i][j] -= lu[i][k] * lu[k][j]
    return lu


def solve(lu, x):
    n = len(x)
    x = x[:]
    for i in range(n):
        for j in range(i):
            x[i] -= lu[i][j] * x[j]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] -= lu[i][j] * x[j]
        x[i] /= lu[i][i]
    return x


def step(p, y, h):
    """The new state, and the difference of the last two columns."""
    j = jacobian(p, y)
    row = []
    for k in range(COLUMNS):
        n = k + 1
        small = h / n
        lu = factors([[(1 if r == c else 0) - small * j[r][c] for c in range(4)] for r in range(4)])
        x = y[:]
        for _ in range(n):
            change = solve(lu, [small * v for v in rhs(p, x)])
            x = [u + v for u, v in zip(x, change)]
        new = [x]
        for m in range(k):
            ratio = mpf(n) / (n - m - 1) - 1
            new.append([a + (a - b) / ratio for a, b in zip(new[m], row[m])])
        row, before = new, row
    return row[-1], [abs(a - b) for a, b in zip(row[-1], row[-2])]


def run(p, end, tolerance=None, lengths=None):
    y, t, taken = [mpf(1), mpf(0), mpf(0), mpf(0)], mpf(0), []
    h = mpf("1e-6")
    while t < end:
        h = lengths[len(taken)] if lengths else min(h, end - t)
        new, error = step(p, y, h)
        if not lengths:
            scale = [max(abs(a), abs(b)) + mpf("1e-30") for a, b in zip(new, y)]
            worst = max(e / s for e, s in zip(error, scale)) / tolerance
            factor = mpf("0.8") * worst ** (mpf(-1) / COLUMNS) if worst > 0 else mpf(4)
            if worst > 1:
                h *= max(factor, mpf("0.2"))
                continue
        t = end if h == end - t else t + h
        y = new
        taken.append(h)
        if not lengths:
            h *= min(max(factor, mpf("0.2")), mpf(4))
    return y, taken


def main():
    end, digits = mpf(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 14
    p = [mpf("0.04"), mpf("1e4"), mpf("3e7")]
    y, lengths = run(p, end, tolerance=mpf(10) ** -digits)
    print(len(lengths), "steps; state", *(mp.nstr(v, 16) for v in y[:3]))
    print("G", mp.nstr(y[3], 16))
    small = mpf("1e-25")
    for i in range(3):
        changed = p[:]
        changed[i] *= 1 + small
        other, _ = run(changed, end, lengths=lengths)
        print(f"dG/dp{i + 1}", mp.nstr((other[3] - y[3]) / (p[i] * small), 16))


main()
