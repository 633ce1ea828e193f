#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a grid of questions takes: `lockstep predict` as a whole process, from its start to
its last row, for grids of 10,000 points and for 16,384 ranks. Needs the study half alone.

    bench/what_if.py [--program build/bin/lockstep] [--repeats 9] [--out FILE]
"""
import argparse
import pathlib
import subprocess
import time

from record import ROOT, median_with_interval, new_record, write_record

LIMIT_S = 1.0
BATCHES = ",".join(str(8 * i) for i in range(1, 501))
GRIDS = {
    # model, options, points
    "resnet50, 2 links x 500 batches x 10 ranks": (
        ["resnet50", "--device", "A100", "--link", "pcie4-p2p+ib-hdr-8x,nvswitch-a100+ib-hdr-8x",
         "--batch", BATCHES, "--ranks", "1,2,4,...,512", "--precision", "bf16"], 10_000),
    "linear, 2 links x 500 batches x 10 ranks": (
        ["linear", "--device", "A100", "--link", "pcie4-p2p+ib-hdr-8x,nvswitch-a100+ib-hdr-8x",
         "--batch", BATCHES, "--ranks", "1,2,4,...,512"], 10_000),
    "resnet50, 1 to 16,384 ranks": (
        ["resnet50", "--device", "A100", "--link", "nvswitch-a100+ib-hdr-8x", "--batch", "64",
         "--ranks", "1,2,4,...,16384"], 15),
}


def timed(command):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, len(done.stdout.splitlines()) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/lockstep")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--python", help="of no use here; every comparison is given it")
    parser.add_argument("--out", type=pathlib.Path)
    asked = parser.parse_args()
    record = new_record("what_if", limit_s=LIMIT_S)
    samples = {name: [] for name in GRIDS}
    rows = {}
    for _ in range(asked.repeats):
        for name, (arguments, points) in GRIDS.items():
            seconds, rows[name] = timed([str(asked.program), "predict", *arguments, "--csv"])
            if rows[name] != points:
                raise SystemExit(f"{name}: {rows[name]} rows instead of {points}")
            samples[name].append(seconds)
    print(f"{'grid':44} {'points':>7} {'seconds':>8}  95 %           under {LIMIT_S:g} s")
    for name, values in samples.items():
        middle, low, high = median_with_interval(values)
        print(f"{name:44} {rows[name]:7} {middle:8.3f}  {low:.3f} to {high:.3f}  {'yes' if high < LIMIT_S else 'no'}")
        record["rows"].append({"grid": name, "points": rows[name], "median_s": middle, "lo95_s": low, "hi95_s": high,
                               "samples_s": values})
    if asked.out:
        write_record(asked.out, record)


if __name__ == "__main__":
    main()
