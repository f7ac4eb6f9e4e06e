#!/usr/bin/env python3
"""Gray-Scott, RK4, in double precision on a device: Hindsight beside JAX and diffrax, with equal numbers of checkpoints.

bench/jax_peer.py PROGRAM CASES [--backend cuda] [--cells 1024] [--steps 1000] [--checkpoints 40] [--json FILE]
    PROGRAM: hindsight. CASES: the folder with gray-scott.yaml. Its checkpoints are in device memory alone, on Revolve's
    schedule. Each competitor runs in a process of its own, so that its
    peak of device memory is its own: the program; diffrax with RecursiveCheckpointAdjoint; and plain JAX, a scan over
    stretches of steps that are taken again in the reverse sweep (jax.checkpoint). Where JAX or diffrax is not installed,
    that is said. Times are medians of repetitions, compilation left out; objectives and gradients are compared.
Exit code 0; 1: a competitor has other results."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

REPETITIONS = 5
STEP = 0.02  # stable up to 1024 cells


def hindsight(options):
    """Seconds of the simulation and of the gradient as the program reports them, and its device memory at most."""
    steps = [f"grid.{axis}.cells={options.cells}" for axis in "xy"] + [f"time.step={STEP}", f"time.to={STEP * options.steps}"]
    steps += ['objective=[{final: "(u - 0.5)^2"}]', "unknowns={F: {}, k: {}}", f"output.every={2 * options.steps * STEP}"]
    steps += ["checkpoints.schedule=revolve",
              f"checkpoints.{'host' if options.backend == 'host' else 'device'}={options.checkpoints} slots"]
    forward, gradient = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPETITIONS):
            for verb, seconds in (("run", forward), ("gradient", gradient)):
                out = pathlib.Path(folder, verb)
                subprocess.run([options.program, verb, options.cases / "gray-scott.yaml", "--quiet", "--backend", options.backend,
                                "--out", out, "--set", *steps], check=True)
                result = json.loads((out / "result.json").read_text())
                seconds.append(result["seconds"]["forward"] if verb == "run" else result["plan"]["actual"]["seconds"])
    memory = result["memory"].get("device", result["memory"]["host"])
    return {"objective": result["objective"], "gradient": [result["gradient"]["F"], result["gradient"]["k"]],
            "forward": statistics.median(forward), "gradient_seconds": statistics.median(gradient), "peak": memory["peak"]}


def equations(jax, cells):
    """The same initial state, right-hand side and objective as the case's."""
    numpy = jax.numpy
    width = 2.5 / cells
    x = (numpy.arange(cells) + 0.5) * width
    inside = numpy.abs(x - 1.25) < 0.25
    hill = numpy.where(inside, numpy.sin(4 * math.pi * x) ** 2, 0.0)
    bump = 0.25 * hill[:, None] * hill[None, :]

    def laplacian(f):
        return (numpy.roll(f, 1, 0) + numpy.roll(f, -1, 0) + numpy.roll(f, 1, 1) + numpy.roll(f, -1, 1) - 4 * f) / width**2

    def slope(y, parameters):
        (u, v), (feed, kill) = y, parameters
        reaction = u * v**2
        return 8e-5 * laplacian(u) - reaction + feed * (1 - u), 4e-5 * laplacian(v) + reaction - (feed + kill) * v

    return (1 - 2 * bump, bump), slope, width**2


def step_of(jax, slope):
    """One step of the classical method."""
    def add(a, factor, b):
        return jax.tree_util.tree_map(lambda p, q: p + factor * q, a, b)

    def step(y, parameters):
        k1 = slope(y, parameters)
        y2 = add(y, STEP / 2, k1)
        k2 = slope(y2, parameters)
        y3 = add(y, STEP / 2, k2)
        k3 = slope(y3, parameters)
        y4 = add(y, STEP, k3)
        k4 = slope(y4, parameters)
        total = jax.tree_util.tree_map(lambda a, b, c, d: a + 2 * b + 2 * c + d, k1, k2, k3, k4)
        return add(y, STEP / 6, total)

    return step


def plain(jax, options):
    """J(F, k), with stretches of steps that are taken again."""
    initial, slope, area = equations(jax, options.cells)
    step = step_of(jax, slope)
    numpy = jax.numpy
    length = -(-options.steps // options.checkpoints)

    def objective(parameters):
        def one(y, _):
            return step(y, parameters), None

        @jax.checkpoint
        def stretch(y, _):
            return jax.lax.scan(one, y, None, length=length)

        y, _ = jax.lax.scan(stretch, initial, None, length=options.steps // length)
        y, _ = jax.lax.scan(one, y, None, length=options.steps % length)
        return area * numpy.sum((y[0] - 0.5) ** 2)

    return objective


def diffrax_one(jax, options):
    """J(F, k) by diffrax."""
    import diffrax
    import numpy as arrays
    initial, slope, area = equations(jax, options.cells)
    numpy = jax.numpy

    class ClassicalRungeKutta(diffrax.AbstractERK):
        tableau = diffrax.ButcherTableau(
            a_lower=(arrays.array([0.5]), arrays.array([0.0, 0.5]), arrays.array([0.0, 0.0, 1.0])),
            b_sol=arrays.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]), b_error=arrays.zeros(4), c=arrays.array([0.5, 0.5, 1.0]))
        interpolation_cls = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

        def order(self, terms):
            return 4

    def objective(parameters):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, parameters: slope(y, parameters)), ClassicalRungeKutta(), 0.0,
            STEP * options.steps, STEP, initial, parameters,
            max_steps=options.steps + 8, adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=options.checkpoints))
        return area * numpy.sum((solution.ys[0][-1] - 0.5) ** 2)

    return objective


def measure(jax, objective):
    parameters = jax.numpy.array([0.024, 0.06])
    forward, gradient = jax.jit(objective), jax.jit(jax.value_and_grad(objective))
    seconds = {}
    for name, work in (("forward", forward), ("gradient_seconds", gradient)):
        jax.block_until_ready(work(parameters))
        times = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            result = jax.block_until_ready(work(parameters))
            times.append(time.perf_counter() - begin)
        seconds[name] = statistics.median(times)
    statistics_of_memory = jax.devices()[0].memory_stats() or {}
    value, derivative = result
    return {"objective": float(value), "gradient": [float(d) for d in derivative], **seconds,
            "peak": statistics_of_memory.get("peak_bytes_in_use", 0)}


COMPETITORS = {"jax": plain, "diffrax": diffrax_one}


def run_here(options):
    if options.only == "hindsight":
        return hindsight(options)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        if options.backend == "cuda" and jax.devices()[0].platform != "gpu":
            return {"missing": f"JAX computes on {jax.devices()[0].platform} here"}
        jax.config.update("jax_enable_x64", True)
        return measure(jax, COMPETITORS[options.only](jax, options))
    except ImportError as missing:
        return {"missing": str(missing)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path)
    for name, default in (("cells", 1024), ("steps", 1000), ("checkpoints", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(run_here(options)))
        return
    rows, ours, has_failed = {}, None, False
    print(f"Gray-Scott {options.cells} squared, RK4, {options.steps} steps, double, {options.checkpoints} checkpoints")
    for name in ("hindsight", *COMPETITORS):
        ran = subprocess.run([sys.executable, *sys.argv, "--only", name], capture_output=True, text=True)
        if ran.returncode != 0:
            print(f"  {name:10} failed: {ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else ran.returncode}")
            has_failed = True
            continue
        row = rows[name] = json.loads(ran.stdout.strip().splitlines()[-1])
        if "missing" in row:
            print(f"  {name:10} left out: {row['missing']}")
            continue
        ours = ours or row
        ratio = row["gradient_seconds"] / ours["gradient_seconds"]
        off = max(abs(a / b - 1) for a, b in zip([row["objective"], *row["gradient"]], [ours["objective"], *ours["gradient"]]))
        has_failed = has_failed or off > 1e-6
        print(f"  {name:10} forward {row['forward']:.3f} s, gradient {row['gradient_seconds']:.3f} s ({ratio:.2f} of ours), "
              f"peak {row['peak'] / 2**20:.0f} MiB, results off by {off:.1e}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
