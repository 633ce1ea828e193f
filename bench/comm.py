#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of 48.4 MB between two ranks on the same cores, ours against Open
MPI's MPI_Allreduce in shared memory. The programs take turns, so that what
else the machine does falls on all of them; every sample is kept."""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys

from record import new_record, write_record

ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
MPIRUN = ["mpirun", "--oversubscribe", "-n", "2"]


def commands(folder, size, rounds):
    ours = os.path.join(folder, "comm_bench")
    return {
        "threads": [ours, "threads", size, rounds],
        "mpi": MPIRUN + [ours, "mpi", size, rounds],
        "MPI_Allreduce": MPIRUN + [os.path.join(folder, "mpi_allreduce"), size,
                                   rounds],
    }


def run(command):
    done = subprocess.run([str(c) for c in command], env=ENV, text=True,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: code {done.returncode}\n{done.stderr}")
    return [float(line) for line in done.stdout.split()]


def interval(over, under, draws=2000):
    """90 % of the ratio of medians, turns drawn again with replacement."""
    rng = random.Random(1)
    ratios = []
    for _ in range(draws):
        turns = rng.choices(range(len(over)), k=len(over))
        ratios.append(statistics.median(over[t] for t in turns) /
                      statistics.median(under[t] for t in turns))
    ratios.sort()
    return ratios[int(0.05 * draws)], ratios[int(0.95 * draws)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--bytes", type=int, default=48408880)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--python", help="not used: no peer in Python")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    programs = commands(args.bin, args.bytes, args.rounds)
    samples = {name: [] for name in programs}
    for turn in range(args.turns):
        for name, command in programs.items():
            samples[name].append(run(command))
            print(f"# turn {turn + 1}: {name}", file=sys.stderr)
    medians = {name: [statistics.median(turn) for turn in turns]
               for name, turns in samples.items()}
    peer = medians["MPI_Allreduce"]
    print(f"# all_reduce of {args.bytes} B, 2 ranks, {args.turns} turns of "
          f"{args.rounds}")
    print("%-14s %10s %10s %10s %18s" % ("program", "median_ms", "best_ms",
                                         "bus_GB/s", "times MPI (90 %)"))
    record = new_record("comm", bytes=args.bytes, ranks=2)
    rows = record["rows"]
    for name in programs:
        median = statistics.median(medians[name])
        low, high = interval(peer, medians[name])
        rows.append({"program": name, "median_s": median,
                     "best_s": min(map(min, samples[name])),
                     "bus_bytes_per_s": args.bytes / median,
                     "faster_than_mpi": statistics.median(peer) / median,
                     "lo90": low, "hi90": high})
        print("%-14s %10.2f %10.2f %10.2f %7.2f (%.2f-%.2f)" % (
            name, median * 1e3, rows[-1]["best_s"] * 1e3,
            args.bytes / median / 1e9, rows[-1]["faster_than_mpi"], low, high))
    if args.out:
        write_record(args.out, {**record, "samples_s": samples})


if __name__ == "__main__":
    main()
