#!/usr/bin/python3
"""Usage: plot_stiff.py STIFF.json PICTURE.png
Draws what bench.stiff has written: errors of end states and of gradients over the time that a gradient takes."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rows = json.load(open(sys.argv[1]))["runs"]
problems = list(dict.fromkeys(row["problem"] for row in rows))
titles = {"kinetics": "1000 kinetics of ten species", "van-der-pol": "Van der Pol, mu = 1000"}
styles = {"rodas4": ("o-", "rodas4"), "esdirk4": ("s-", "esdirk4"), "cvodes": ("^--", "CVODES")}
figure, axes = plt.subplots(2, len(problems), figsize=(4 * len(problems), 7), squeeze=False)
for column, problem in enumerate(problems):
    for line, (key, what) in enumerate([("state_error", "end state"), ("gradient_error", "gradient")]):
        axis = axes[line][column]
        for by, (style, label) in styles.items():
            mine = [row for row in rows if row["problem"] == problem and row["by"] == by]
            axis.loglog([1e3 * row["seconds"] for row in mine], [row[key] for row in mine], style, label=label)
        axis.set_xlabel("gradient, ms")
        axis.set_ylabel("relative error of the " + what)
        axis.grid(alpha=0.3)
        if line == 0:
            axis.set_title(titles.get(problem, problem.capitalize()))
axes[0][0].legend()
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=110)
