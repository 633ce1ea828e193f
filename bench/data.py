#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second of the 224 px pipeline, ours against torchvision's DataLoader.

    python3 bench/data.py [--workers 2] [--rounds 7] [--out FILE.json] [--files 1281167]

Decode JPEG, resize, flip, rotate, brightness, normalise: the same files, as many
workers, in one run. All sides take turns, one pass over the images each; a ratio
is taken of each round, and the table gives the median ratio with the interval
that holds it at 95 %. Above 1 we are faster. Images: LOCKSTEP_DATA/flowers5 where
it is, and a set that `lockstep data make` writes. --files N also indexes a folder
of N empty files. Needs a Python with torch and torchvision (--python).
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build/bin"
VARIANTS = ("pil", "pil_bilinear", "tensor")
GOAL = 2.0


class Side:
    """A process that makes one pass over the images for each line it is sent."""

    def __init__(self, command):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def rate(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended with {self.process.wait()}")
        answer = json.loads(line)
        return answer["images"] / answer["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def interval(values):
    """Order statistics that hold the median at 95 % or more; all of them when few."""
    values, n = sorted(values), len(values)
    k = 0
    while k + 1 < n / 2 and 2 * sum(math.comb(n, i) for i in range(k + 2)) / 2**n <= 0.05:
        k += 1
    return values[k], values[n - 1 - k]


def compare(name, folder, args):
    sides = {"lockstep": Side([BIN / "data_bench", "images", folder, args.workers, args.batch])}
    for variant in VARIANTS:
        sides[variant] = Side([args.python, ROOT / "bench/data_torchvision.py", folder,
                               args.workers, args.batch, variant])
    rates = {side: [] for side in sides}
    for round_number in range(args.rounds + 1):
        for side, process in sides.items():
            rate = process.rate()
            if round_number > 0:  # the first warms up
                rates[side].append(rate)
    for process in sides.values():
        process.close()
    rows = []
    for variant in VARIANTS:
        ratios = [ours / theirs for ours, theirs in zip(rates["lockstep"], rates[variant])]
        low, high = interval(ratios)
        rows.append({"images": name, "workers": args.workers, "against": f"torchvision {variant}",
                     "lockstep_images_per_s": statistics.median(rates["lockstep"]),
                     "torchvision_images_per_s": statistics.median(rates[variant]),
                     "ratio": statistics.median(ratios), "ratio_low": low, "ratio_high": high,
                     "rounds": args.rounds, "goal": GOAL})
    return rows


def show(rows):
    print(f"{'images':<22}{'against':<27}{'ours':>9}{'theirs':>9}{'ratio':>8}   95 % interval")
    print(f"{'':<22}{'':<27}{'(1/s)':>9}{'(1/s)':>9}")
    for r in rows:
        print(f"{r['images']:<22}{r['against']:<27}{r['lockstep_images_per_s']:>9.0f}"
              f"{r['torchvision_images_per_s']:>9.0f}{r['ratio']:>8.2f}   "
              f"{r['ratio_low']:.2f} to {r['ratio_high']:.2f}"
              f"{'' if r['ratio'] >= r['goal'] else '   below the goal of 2'}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=0, help="also index so many empty files")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def main():
    args = arguments()
    result = {"bench": "data", "batch": args.batch, "rows": []}
    with tempfile.TemporaryDirectory() as scratch:
        flowers = pathlib.Path(os.environ.get("LOCKSTEP_DATA", "data")) / "flowers5"
        if (flowers / "train").is_dir():
            result["rows"] += compare("flowers5, 299 x 224", flowers, args)
        made = pathlib.Path(scratch) / "made"
        subprocess.run([BIN / "lockstep", "data", "make", "images", made, "--samples", "500",
                        "--px", "375"], check=True, stdout=subprocess.DEVNULL)
        result["rows"] += compare("made, 560 x 375", made, args)
        if args.files:
            done = subprocess.run([BIN / "data_bench", "index", str(args.files), scratch + "/many"],
                                  check=True, capture_output=True, text=True)
            result["index"] = json.loads(done.stdout)
    show(result["rows"])
    if "index" in result:
        i = result["index"]
        print(f"indexed {i['files']:,} files in {i['seconds']:.1f} s, peak memory "
              f"{i['peak_bytes'] / 1e6:.0f} MB (goals: 60 s, 1,000 MB)")
    if args.out:
        args.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
