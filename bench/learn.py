#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does our fast step learn what PyTorch's learns? The same recipe on both, on one GPU.

    python3 bench/learn.py --data FOLDER [--epochs 10] [--seeds 1,2,3] [--out FOLDER]

ResNet-18 on CIFAR-10 by recipes/resnet18_cifar10.toml: ours with captured steps and
our kernels, PyTorch's in autocast. FOLDER holds CIFAR-10's .bin files. Prints
test accuracy and training loss of the last epoch for each seed, and the difference
of the means with its standard error. Needs a python3 with torch on the path.
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, new_record, write_record

RECIPE = ROOT / "recipes/resnet18_cifar10.toml"


def ours(args, seed, folder):
    command = [args.binary, "train", RECIPE, "--out", folder, "--set", f"train.epochs={args.epochs}",
               "--set", f"train.seed={seed}", "--set", f"data.path={args.data}",
               "--set", "store.checkpoint=false", "--set", "data.workers=8"]
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True)
    with (folder / "epochs.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key]) for row in rows] for key in ("train_loss", "val_accuracy")}


def peer(args, seed):
    command = [sys.executable, ROOT / "bench/learn_torch.py", RECIPE, args.data, args.epochs, seed]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


def difference(a, b):
    """Of the means, with its standard error."""
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    return statistics.mean(a) - statistics.mean(b), error


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/lockstep")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--out", type=pathlib.Path, help="folder for learn.json")
    return parser.parse_args()


def main():
    args = parse()
    record = new_record("learn", epochs=args.epochs, recipe=RECIPE.name)
    print("# seed   accuracy (%)          train loss\n#        ours    PyTorch      ours    PyTorch")
    with tempfile.TemporaryDirectory() as folder:
        for seed in args.seeds.split(","):
            row = {"seed": int(seed), "ours": ours(args, seed, pathlib.Path(folder) / seed),
                   "torch": peer(args, seed)}
            record["rows"].append(row)
            a, b = row["ours"], row["torch"]
            print(f"{seed:>6} {100 * a['val_accuracy'][-1]:>8.2f} {100 * b['val_accuracy'][-1]:>8.2f}"
                  f" {a['train_loss'][-1]:>10.4f} {b['train_loss'][-1]:>10.4f}", flush=True)
            if args.out:
                write_record(args.out / "learn.json", record)
    if len(record["rows"]) > 1:
        for key, scale, unit in (("val_accuracy", 100, " points of accuracy"), ("train_loss", 1, " of loss")):
            mean, error = difference(*([row[side][key][-1] for row in record["rows"]]
                                       for side in ("ours", "torch")))
            print(f"# ours less PyTorch: {scale * mean:+.3f} +- {scale * error:.3f}{unit}")


if __name__ == "__main__":
    main()
