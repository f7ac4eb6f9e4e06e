#!/usr/bin/python3
"""What plans say of a gradient's time, beside what the whole process takes.

bench/predictions.py PROGRAM [--seconds 0.01 0.1 1 10] [--repeat 5] [--problems NAME...] [--json FILE]
    Small states (an ODE of two) and large ones (Gray-Scott on 128 and 512 squared), on store-all, on Revolve with few
    checkpoints, with a disk, and as planned by default; the number of steps is such that the gradient takes about so long.
    Ratios are medians: predicted over wall time of the process as seen from outside, predicted over taken seconds of
    the gradient alone, and the default budget's wall time over that of a quarter of it.
Exit code 0; 1: a ratio is outside of 0.8 to 1.25, or the default is slower than its quarter by more than 5 %."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ODE = """case: oscillator
parameters: {mu: 5.0}
state: {a: {initial: 2}, b: {initial: 0}}
equations: {dt(a): b, dt(b): "mu*(1 - a^2)*b - a"}
time: {method: rk4, step: 1e-6, to: 1e-4}
objective: [{final: "a^2"}, {integral: "b^2"}]
unknowns: {mu: {}, initial(a): {}}
"""
PDE = """case: gray-scott
grid: {x: {cells: CELLS, to: 2.5}, y: {cells: CELLS, to: 2.5}}
parameters: {Du: 8e-5, Dv: 4e-5, F: 0.024, k: 0.06}
functions: {"bump(x, y)": "where(abs(x - 1.25) < 0.25 and abs(y - 1.25) < 0.25, sin(4*pi*x)^2*sin(4*pi*y)^2, 0)"}
state: {u: {initial: "1 - 0.5*bump(x, y)"}, v: {initial: "0.25*bump(x, y)"}}
equations: {dt(u): "Du*lap(u) - u*v^2 + F*(1 - u)", dt(v): "Dv*lap(v) + u*v^2 - (F + k)*v"}
time: {method: rk4, step: 1e-3, to: 0.1}
objective: [{final: "(u - 0.5)^2"}, {integral: "v^2"}]
unknowns: {F: {}, k: {}, initial(u): {}}
"""
PROBLEMS = {"ODE": (ODE, 1e-6), "128 squared": (PDE.replace("CELLS", "128"), 1e-3),
            "512 squared": (PDE.replace("CELLS", "512"), 1e-3)}
SCHEDULES = {"default": [], "store-all": ["checkpoints={schedule: store-all, host: 9 GiB}"],
             "revolve": ["checkpoints={schedule: revolve, host: 12 slots}"],
             "disk": ["checkpoints={host: 12 slots, disk: 4 GiB}"]}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.rows = options, folder, []

    def command(self, verb, problem, steps, settings):
        text, step = PROBLEMS[problem]
        case = self.folder / f"{problem.replace(' ', '-')}.yaml"
        case.write_text(text)
        return [self.options.program, verb, case, "--quiet", "--set", f"time.to={steps * step!r}", *settings]

    def planned(self, problem, steps, settings):
        out = self.folder / "plan.json"
        subprocess.run(self.command("plan", problem, steps, settings) + ["--json", out], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())

    def run(self, problem, steps, settings):
        """(seconds of the process, its result)"""
        run = self.folder / "run"
        command = self.command("gradient", problem, steps, settings) + ["--out", run]
        begin = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - begin, json.loads((run / "result.json").read_text())

    def steps_for(self, problem, seconds, settings):
        steps = 30
        for _ in range(3):
            plan = self.planned(problem, steps, settings)
            steps = max(5, round(steps * seconds / plan["seconds"]))
        return steps

    def measure(self, problem, schedule, seconds):
        settings = SCHEDULES[schedule]
        try:
            steps = self.steps_for(problem, seconds, settings)
        except subprocess.CalledProcessError:  # says why
            print(f"{problem:12} {schedule:10} does not fit the memory", flush=True)
            return True
        totals, gradients, walls = [], [], []
        for _ in range(self.options.repeat):
            wall, result = self.run(problem, steps, settings)
            plan = result["plan"]
            totals.append(plan["predicted"]["total_seconds"] / wall)
            gradients.append(plan["predicted"]["seconds"] / plan["actual"]["seconds"])
            walls.append(wall)
        row = {"problem": problem, "schedule": schedule, "steps": steps, "chosen": plan["schedule"],
               "gradient_seconds": plan["actual"]["seconds"], "wall": statistics.median(walls),
               "total": statistics.median(totals), "gradient": statistics.median(gradients)}
        self.rows.append(row)
        good = 0.8 <= row["total"] <= 1.25
        print(f"{problem:12} {schedule:10} {steps:>9} steps, {plan['schedule']:10} gradient {row['gradient_seconds']:8.3g} s, wall "
              f"{row['wall']:8.3g} s, predicted over wall {row['total']:.2f}, of the gradient alone {row['gradient']:.2f}"
              + ("" if good else "   OUTSIDE"), flush=True)
        return good

    def quarter(self, problem, seconds):
        """The default budget against a quarter of it."""
        steps = self.steps_for(problem, seconds, [])
        _, result = self.run(problem, steps, [])
        less = [f"checkpoints.host={result['memory']['host']['budget'] // 4}"]
        ratios = []
        for _ in range(self.options.repeat):
            # In both orders: the second process finds pages that the first one has given back.
            default, quarter, again = (self.run(problem, steps, settings)[0] for settings in ([], less, less))
            ratios.append((default + self.run(problem, steps, [])[0]) / (quarter + again))
        ratio = statistics.median(ratios)
        self.rows.append({"problem": problem, "steps": steps, "default_over_quarter": ratio})
        print(f"{problem:12} default budget over a quarter of it, {steps} steps: {ratio:.3f}" + ("" if ratio <= 1.05 else "   SLOWER"),
              flush=True)
        return ratio <= 1.05


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.01, 0.1, 1, 10])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.program = options.program.resolve()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for seconds in options.seconds:
            for problem in options.problems:
                for schedule in SCHEDULES:
                    good = bench.measure(problem, schedule, seconds) and good
        for seconds in options.seconds[-2:]:
            for problem in options.problems:
                good = bench.quarter(problem, seconds) and good
        if options.json:
            options.json.write_text(json.dumps(bench.rows, indent=1) + "\n")
    sys.exit(not good)


if __name__ == "__main__":
    main()
