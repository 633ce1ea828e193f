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
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, median_with_interval, new_record, write_record
from worker import Worker

BIN = ROOT / "build/bin"
VARIANTS = ("pil", "pil_bilinear", "tensor")
GOAL = 2.0


def compare(name, folder, args):
    sides = {"lockstep": Worker([BIN / "data_bench", "images", folder, args.workers, args.batch])}
    for variant in VARIANTS:
        sides[variant] = Worker([args.python, ROOT / "bench/data_torchvision.py", folder,
                                 args.workers, args.batch, variant])
    rates = {side: [] for side in sides}
    for round_number in range(args.rounds + 1):
        for side, process in sides.items():
            answer = process.ask("")
            if round_number > 0:  # the first warms up
                rates[side].append(answer["images"] / answer["seconds"])
    for process in sides.values():
        process.close()
    rows = []
    for variant in VARIANTS:
        ratios = [ours / theirs for ours, theirs in zip(rates["lockstep"], rates[variant])]
        middle, low, high = median_with_interval(ratios)
        rows.append({"images": name, "workers": args.workers, "against": f"torchvision {variant}",
                     "lockstep_images_per_s": statistics.median(rates["lockstep"]),
                     "torchvision_images_per_s": statistics.median(rates[variant]),
                     "ratio": middle, "ratio_low": low, "ratio_high": high,
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
    result = new_record("data", batch=args.batch)
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
        write_record(args.out, result)


if __name__ == "__main__":
    main()
