#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A data-parallel step on two ranks of one core each, ours against PyTorch's
DistributedDataParallel over gloo on the same cores.

    python3 bench/ddp.py --python .venv-bench/bin/python [--out FILE.json]

Ours is `lockstep train --ranks 2`, recording on and loading included; PyTorch's
batch lies ready. PyTorch runs as installed and with malloc told to keep memory.
The three take turns; a ratio is taken of each turn's medians, and the table
gives the median ratio with the interval that holds it at 95 %."""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, median_with_interval, new_record, write_record
from step import KEEP

# Model, global batch, steps a turn, goal over PyTorch as installed.
CASES = [("linear", 10, 40, 3.0), ("linear", 100, 30, 3.0), ("linear", 600, 10, 1.4),
         ("resnet18", 32, 4, 1.0)]
WARM_UP = 5
OPTIMISERS = {"linear": 'kind = "adam"\nlr = 0.001',
              "resnet18": 'kind = "sgd"\nlr = 0.01\nmomentum = 0.9\nweight_decay = 0.0005'}
# Samples of the right shape that lie in memory.
RECIPE = """[model]
kind = "{model}"
[data]
kind = "synthetic"
split = "all"
synthetic_samples = {samples}
[batch]
global = {batch}
[train]
steps = {steps}
threads = 1
[strategy]
kind = "ddp"
[optim]
{optimiser}
[store]
checkpoint = false
"""


def ours(args, model, batch, steps):
    with tempfile.TemporaryDirectory() as folder:
        recipe, out = pathlib.Path(folder) / "recipe.toml", pathlib.Path(folder) / "run"
        recipe.write_text(RECIPE.format(model=model, batch=batch, samples=max(20 * batch, 200), steps=steps + WARM_UP,
                                        optimiser=OPTIMISERS[model]))
        subprocess.run([str(args.build / "bin/lockstep"), "train", str(recipe), "--ranks", "2", "--out", str(out)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out / "steps.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["rank"] == "0"]
    return [float(row["step_s"]) for row in rows][WARM_UP:]


def theirs(args, model, batch, steps, environment):
    done = subprocess.run([args.python, str(ROOT / "bench/torch_ddp.py"), model, str(batch), str(steps)],
                          check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return json.loads(done.stdout)["step_s"]


def measure(args, model, batch, steps):
    sides = {"lockstep": lambda: ours(args, model, batch, steps),
             "torch": lambda: theirs(args, model, batch, steps, {}),
             "torch_kept": lambda: theirs(args, model, batch, steps, KEEP)}
    turns = []
    for turn in range(args.turns):
        names = list(sides)
        turns.append({name: sides[name]() for name in names[turn % 3:] + names[:turn % 3]})
    return turns


def summarise(turns):
    row = {f"{side}_s": statistics.median(statistics.median(turn[side]) for turn in turns) for side in turns[0]}
    for side in ("torch", "torch_kept"):
        row[f"over_{side}"] = median_with_interval(
            [statistics.median(turn[side]) / statistics.median(turn["lockstep"]) for turn in turns])
    return row


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and torchvision")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", action="append", metavar="MODEL:BATCH")
    parser.add_argument("--out", type=pathlib.Path, help="record with every sample")
    return parser.parse_args()


def main():
    args = parse()
    record = new_record("ddp")
    print("# a ddp step, 2 ranks x 1 core; ratio above 1: we are faster; [95 %]")
    print(f"#{'model':>8} {'batch':>5} {'ours':>9} {'gloo':>9} {'ratio':^20} {'goal':>5}        {'malloc':>9} {'ratio':^20}")
    for model, batch, steps, goal in CASES:
        if args.only and f"{model}:{batch}" not in args.only:
            continue
        turns = measure(args, model, batch, steps)
        row = summarise(turns)
        (a, a_lo, a_hi), (b, b_lo, b_hi) = row["over_torch"], row["over_torch_kept"]
        print(f"{model:>9} {batch:>5} {row['lockstep_s'] * 1e3:>6.1f} ms {row['torch_s'] * 1e3:>6.1f} ms "
              f"{a:5.2f} [{a_lo:.2f}, {a_hi:.2f}] {goal:>5.1f} {'met' if a >= goal else 'missed':<6} "
              f"{row['torch_kept_s'] * 1e3:>6.1f} ms {b:5.2f} [{b_lo:.2f}, {b_hi:.2f}]", flush=True)
        record["rows"].append({"model": model, "batch": batch, "goal": goal, **row, "samples_s": turns})
    if args.out:
        write_record(args.out, record)
        print(f"# record: {args.out}")


if __name__ == "__main__":
    main()
