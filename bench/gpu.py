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


def torch_step_ms(model, batch, precision, mode, rounds):
    """A process of its own: PyTorch's settings are global."""
    command = [sys.executable, str(ROOT / "bench/gpu_torch.py"), model, str(batch), precision,
               mode, str(rounds)]
    return answer_of(command)


def our_step_ms(binary, model, batch, precision, graph, rounds):
    steps = 200 if model == "linear" else 30
    return answer_of([str(binary), model, str(batch), precision, graph, str(steps), str(rounds)])


def answer_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def gpu_state():
    fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw"
    out = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(fields.split(","), (v.strip() for v in out.splitlines()[0].split(","))))


def measure(args, case):
    model, batch, precision, mode = case
    ours = our_step_ms(args.binary, model, batch, precision, "on", args.rounds)
    # In fp32 a gpt's step takes half a second: nobody would train it so.
    plain = "bf16" if model == "gpt" else "fp32"
    eager = torch_step_ms(model, batch, plain, "eager", args.rounds)
    best = torch_step_ms(model, batch, precision, mode, args.rounds)
    counts = {side["parameters"] for side in (ours, eager, best)}
    if len(counts) != 1:
        raise SystemExit(f"bench: not the same model: {counts}")
    median = statistics.median
    row = {"model": model, "batch": batch, "precision": precision, "best_mode": mode,
           "ours_ms": median(ours["step_ms"]),
           "eager_ms": median(eager["step_ms"]), "best_ms": median(best["step_ms"])}
    row["over_eager"] = row["eager_ms"] / row["ours_ms"]
    row["over_best"] = row["best_ms"] / row["ours_ms"]
    row["clocks"] = gpu_state()
    row["sides"] = {"ours": ours, "eager": eager, "best": best}
    return row


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
    parser.add_argument("--only", action="append", metavar="MODEL:BATCH")
    parser.add_argument("--out", type=pathlib.Path, help="folder for gpu.csv and gpu.json")
    return parser.parse_args()


def main():
    args = parse()
    record = new_record("gpu", gpu=gpu_state())
    print(f"# one training step on {record['gpu']['name']}; ratio above 1: we are faster")
    print(f"#{'model':>13} {'batch':>5} {'class':>5} {'ours':>9} {'eager':>9} {'best':>9} "
          f"{'mode':>8} {'/eager':>7} {'/best':>7}")
    for case in CASES:
        if args.only and f"{case[0]}:{case[1]}" not in args.only:
            continue
        row = measure(args, case)
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
