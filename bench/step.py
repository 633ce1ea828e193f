#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of ours against PyTorch's, on the same cores, interleaved.

    python3 bench/step.py [--only linear:10] [--seconds 20] [--out FILE.json]

PyTorch runs twice: as installed, and with malloc told to keep freed memory.
The three take turns, a few steps each; a ratio is taken of each round's medians,
and the table gives the median ratio with the interval that holds it at 95 %.
Above 1 we are faster. Needs a Python with torch and torchvision (--python).
"""
import argparse
import math
import os
import pathlib
import statistics
import sys

from record import ROOT, median_with_interval, new_record, write_record
from worker import Worker

# Model, batch, goal over PyTorch as installed, goal over the tuned one.
CASES = [("linear", 10, 2.0, 1.15), ("linear", 100, 1.0, 1.0), ("linear", 600, 1.0, 1.0),
         ("conv1d", 10, 1.5, 1.5), ("resnet18", 32, 1.0, 1.0)]
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
        "MALLOC_TOP_PAD_": str(1 << 26)}
SIDES = ("lockstep", "torch", "torch_kept")
PARTS = ("step_s", "forward_s", "backward_s", "optim_s")


def start(args, model, batch):
    case = [model, str(batch), str(args.threads)]
    theirs = [args.python, ROOT / "bench/torch_worker.py", *case]
    programs = {"lockstep": ([args.build / "bin/step_bench", *case], {}),
                "torch": (theirs, {}), "torch_kept": (theirs, KEEP)}
    workers, about = {}, {}
    for side, (command, environment) in programs.items():
        workers[side] = Worker(command, environment)
        about[side] = workers[side].read()  # one after the other: PyTorch's tries its settings first
    counts = {side: said["parameters"] for side, said in about.items()}
    if len(set(counts.values())) != 1:
        raise SystemExit(f"bench: not the same model: {counts}")
    return workers, about


def measure(args, model, batch):
    """Rounds of {side: {part: [seconds, ...]}}, and what each side says of itself."""
    workers, about = start(args, model, batch)
    once = {side: statistics.median(workers[side].ask(3)["step_s"]) for side in SIDES}
    steps = max(1, min(20, round(0.25 / max(once.values()))))
    rounds = max(5, math.ceil(args.seconds / (steps * sum(once.values()))))
    samples = []
    for turn in range(rounds):
        order = SIDES[turn % 3:] + SIDES[:turn % 3]
        samples.append({side: workers[side].ask(steps) for side in order})
    for worker in workers.values():
        worker.close()
    return about, samples


def summarise(samples):
    def median(one, side, part="step_s"):
        return statistics.median(one[side][part])

    row = {side: {part: statistics.median(median(one, side, part) for one in samples)
                  for part in PARTS} for side in SIDES}
    for side in SIDES[1:]:
        ratios = [median(one, side) / median(one, "lockstep") for one in samples]
        row[f"over_{side}"] = median_with_interval(ratios)
    return row


def floor_s(parameters, bandwidth_bytes_per_s):
    """Adam at small batch: the weight is read forward, its gradient written once, then value,
    gradient, mean and square are read and three of them written back: nine passes."""
    return 9 * 4 * parameters / bandwidth_bytes_per_s


def print_row(model, batch, row, goals):
    def ratio(key, goal):
        middle, low, high = row[key]
        verdict = "met" if middle >= goal else "missed"
        return f"{middle:5.2f} [{low:.2f}, {high:.2f}] {goal:4.2f} {verdict:<6}"

    print(f"{model:>9} {batch:>5} {row['lockstep']['step_s'] * 1e3:>10.2f} "
          f"{row['torch']['step_s'] * 1e3:>10.2f}  {ratio('over_torch', goals[0])} "
          f"{row['torch_kept']['step_s'] * 1e3:>10.2f}  {ratio('over_torch_kept', goals[1])}",
          flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=20, help="of measuring a row")
    parser.add_argument("--only", action="append", metavar="MODEL:BATCH")
    parser.add_argument("--out", type=pathlib.Path, help="record with every sample")
    return parser.parse_args()


def main():
    args = parse()
    record = new_record("step")
    print(f"# one training step on {args.threads} threads; ratio above 1: we are faster; [95 %]")
    print(f"#{'model':>8} {'batch':>5} {'ours':>10} {'PyTorch':>10}  "
          f"{'ratio':^19} {'goal':>11} {'malloc':>10}  {'ratio':^19} {'goal':>11}")
    print(f"#{'':>8} {'':>5} {'(ms)':>10} {'(ms)':>10}  {'':>31} {'kept (ms)':>10}")
    for model, batch, *goals in CASES:
        if args.only and f"{model}:{batch}" not in args.only:
            continue
        about, samples = measure(args, model, batch)
        row = summarise(samples)
        print_row(model, batch, row, goals)
        if (model, batch) == ("linear", 10):
            floor = floor_s(about["lockstep"]["parameters"],
                            about["lockstep"]["bandwidth_bytes_per_s"])
            row["floor_s"] = floor
            print(f"#{'':>15} floor by bytes {floor * 1e3:.2f} ms: "
                  f"{floor / row['lockstep']['step_s']:.0%} of it reached")
        record["rows"].append({"model": model, "batch": batch, "goals": goals, "about": about,
                               **row, "samples": samples})
    if args.out:
        write_record(args.out, record)
        print(f"# record: {args.out}")


if __name__ == "__main__":
    main()
