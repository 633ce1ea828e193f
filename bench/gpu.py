#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of ours against PyTorch's on one GPU, in turns.

    python3 bench/gpu.py [--only conv1d:600] [--rounds 5] [--out FOLDER]

For every row PyTorch runs eagerly as people write it, and in the mode that was
its best when all were tried (CUDA graph, or torch.compile's reduce-overhead,
fused optimiser, tf32 or bf16, channels last). Ours runs in the same precision
as PyTorch's best, as the trainer runs it. The batch lies on the GPU on both
sides. A ratio above 1: we are faster. Needs a python3 with torch on the path.
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys

from record import ROOT, new_record, write_record

# Model, batch, precision class, PyTorch's best mode.
CASES = [("linear", 10, "tf32", "graph"), ("linear", 100, "tf32", "graph"),
         ("linear", 600, "tf32", "graph"), ("conv1d", 10, "bf16", "graph"),
         ("conv1d", 100, "bf16", "graph"), ("conv1d", 600, "bf16", "graph"),
         ("resnet18", 32, "bf16", "graph"), ("resnet18", 128, "bf16", "compile"),
         ("resnet18", 512, "bf16", "compile"), ("mobilenet_v2", 16, "bf16", "graph"),
         ("mobilenet_v2", 64, "bf16", "compile"), ("mobilenet_v2", 128, "bf16", "compile"),
         ("resnet50", 32, "bf16", "compile"), ("resnet50", 128, "bf16", "compile"),
         ("vit_b_16", 32, "bf16", "compile"), ("vit_b_16", 128, "bf16", "compile"),
         ("gpt", 8, "bf16", "compile"), ("gpt", 32, "bf16", "compile")]


class Side:
    """A process of its own, since PyTorch's settings are global: it compiles and warms up,
    says so, and times when it is its turn."""

    def __init__(self, command):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen([*self.command, "wait"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self):
        while line := self.process.stdout.readline():
            if line.strip() == "ready":
                return
        raise SystemExit(f"bench: {' '.join(self.command)} ended with {self.process.wait()}")

    def timed(self):
        out, _ = self.process.communicate("go\n")
        if self.process.returncode != 0:
            raise SystemExit(f"bench: {' '.join(self.command)} ended with "
                             f"{self.process.returncode}")
        return json.loads(out.splitlines()[-1])


def begin(args, case):
    """All sides of a row, started."""
    model, batch, precision, mode = case
    steps = 200 if model == "linear" else 30
    peer = [sys.executable, ROOT / "bench/gpu_torch.py", model, batch]
    # In fp32 a gpt's step takes half a second: nobody would train it so.
    plain = "bf16" if model == "gpt" else "fp32"
    return {"ours": Side([args.binary, model, batch, precision, "on", steps, args.rounds]),
            "eager": Side([*peer, plain, "eager", args.rounds]),
            "best": Side([*peer, precision, mode, args.rounds])}


def gpu_state():
    fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw"
    out = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(fields.split(","), (v.strip() for v in out.splitlines()[0].split(","))))


def measure(case, sides):
    model, batch, precision, mode = case
    answers = {name: side.timed() for name, side in sides.items()}
    counts = {answer["parameters"] for answer in answers.values()}
    if len(counts) != 1:
        raise SystemExit(f"bench: not the same model: {counts}")
    row = {"model": model, "batch": batch, "precision": precision, "best_mode": mode,
           **{f"{name}_ms": statistics.median(answer["step_ms"])
              for name, answer in answers.items()}}
    row["over_eager"] = row["eager_ms"] / row["ours_ms"]
    row["over_best"] = row["best_ms"] / row["ours_ms"]
    row["clocks"] = gpu_state()
    row["sides"] = answers
    return row


def measured_rows(args, cases):
    """Rows in turn; the sides of the next few compile side by side, then time one by one."""
    for first in range(0, len(cases), args.ahead):
        group = [(case, begin(args, case)) for case in cases[first:first + args.ahead]]
        for _, sides in group:
            for side in sides.values():
                side.wait_until_ready()
        for case, sides in group:
            yield measure(case, sides)


def write(folder, record):
    write_record(folder / "gpu.json", record)
    with (folder / "gpu.csv").open("w", newline="") as file:
        fields = [k for k in record["rows"][0] if k not in ("sides", "clocks")]
        table = csv.DictWriter(file, fields, extrasaction="ignore")
        table.writeheader()
        table.writerows(record["rows"])


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else float("nan")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/gpu_bench")
    parser.add_argument("--rounds", type=int, default=5, help="of each side, a row")
    parser.add_argument("--ahead", type=int, default=1, metavar="ROWS",
                        help="prepared at once: compiling is most of the time, but all of "
                             "them lie in the GPU's memory together")
    parser.add_argument("--only", action="append", metavar="MODEL:BATCH")
    parser.add_argument("--out", type=pathlib.Path, help="folder for gpu.csv and gpu.json")
    return parser.parse_args()


def main():
    args = parse()
    record = new_record("gpu", gpu=gpu_state())
    print(f"# one training step on {record['gpu']['name']}; ratio above 1: we are faster")
    print(f"#{'model':>13} {'batch':>5} {'class':>5} {'ours':>9} {'eager':>9} {'best':>9} "
          f"{'mode':>8} {'/eager':>7} {'/best':>7}")
    cases = [c for c in CASES if not args.only or f"{c[0]}:{c[1]}" in args.only]
    for row in measured_rows(args, cases):
        record["rows"].append(row)
        print(f"{row['model']:>14} {row['batch']:>5} {row['precision']:>5} {row['ours_ms']:>9.3f} "
              f"{row['eager_ms']:>9.3f} {row['best_ms']:>9.3f} {row['best_mode']:>8} "
              f"{row['over_eager']:>7.2f} {row['over_best']:>7.2f}", flush=True)
        if args.out:
            write(args.out, record)
    rows = record["rows"]
    print(f"# geometric mean: {geometric_mean([r['over_eager'] for r in rows]):.2f} over eager, "
          f"{geometric_mean([r['over_best'] for r in rows]):.2f} over PyTorch's best")


if __name__ == "__main__":
    main()
