#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does our fast step learn what PyTorch's learns? The same recipe on both, on one GPU.

    python3 bench/learn.py --data ROOT [--only conv1d] [--seeds 1,2,3] [--out FOLDER]

The seed models by their recipes (images as they are: what chance does to them is not the
step's): ours with captured steps and our kernels, PyTorch's with tf32 products or in autocast.
ROOT is a data folder as LOCKSTEP_DATA names one. Prints held-back accuracy and training loss
of the last epoch for each seed, and the difference of the means with its standard error. Needs
a python3 with torch on the path.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, new_record, write_record

# Recipe, epochs, settings beside the recipe's.
CASES = {"linear": ("linear_test.toml", 15, ["train.precision=tf32"]),
         "conv1d": ("conv1d_test.toml", 15, ["train.precision=bf16"]),
         "resnet18": ("resnet18_cifar10.toml", 8, ["data.workers=8"]),
         "mobilenet_v2": ("mobilenet_v2_flowers.toml", 15, [
             "train.precision=bf16", "train.channels_last=true", "model.classes=10",
             "data.resident=true", "data.flip=false", "data.rotate_deg=0", "data.brightness=0"])}


def ours(args, model, seed, folder):
    recipe, epochs, settings = CASES[model]
    settings = [*settings, f"train.epochs={epochs}", f"train.seed={seed}", "train.device=cuda",
                "store.checkpoint=false"]
    command = [args.binary, "train", ROOT / "recipes" / recipe, "--out", folder]
    command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True,
                   env={**os.environ, "LOCKSTEP_DATA": str(args.data)})
    with (folder / "epochs.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key]) for row in rows] for key in ("train_loss", "val_accuracy")}


def peer(args, model, seed, folder):
    command = [sys.executable, ROOT / "bench/learn_torch.py", folder / "config.toml", args.data,
               CASES[model][1], seed]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


def difference(a, b):
    """Of the means, with its standard error."""
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    return statistics.mean(a) - statistics.mean(b), error


def compare(args, model):
    recipe, epochs, settings = CASES[model]
    record = new_record("learn", model=model, recipe=recipe, epochs=epochs, settings=settings)
    with tempfile.TemporaryDirectory() as folder:
        for seed in args.seeds.split(","):
            run = pathlib.Path(folder) / seed
            a = ours(args, model, seed, run)
            b = peer(args, model, seed, run)
            record["rows"].append({"seed": int(seed), "ours": a, "torch": b})
            print(f"{model:>13} {seed:>5} {100 * a['val_accuracy'][-1]:>8.2f}"
                  f" {100 * b['val_accuracy'][-1]:>8.2f} {a['train_loss'][-1]:>10.4f}"
                  f" {b['train_loss'][-1]:>10.4f}", flush=True)
    return record


def conclude(record):
    for key, scale, unit in (("val_accuracy", 100, " points of accuracy"),
                             ("train_loss", 1, " of loss")):
        mean, error = difference(*([row[side][key][-1] for row in record["rows"]]
                                   for side in ("ours", "torch")))
        print(f"# {record['model']}: ours less PyTorch {scale * mean:+.3f} +- "
              f"{scale * error:.3f}{unit}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/lockstep")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", choices=CASES, metavar="MODEL")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--out", type=pathlib.Path, help="folder for learn_MODEL.json")
    return parser.parse_args()


def main():
    args = parse()
    print("#       model  seed   accuracy (%)          train loss\n"
          "#                    ours  PyTorch       ours    PyTorch")
    for model in args.only or CASES:
        record = compare(args, model)
        if args.out:
            write_record(args.out / f"learn_{model}.json", record)
        if len(record["rows"]) > 1:
            conclude(record)


if __name__ == "__main__":
    main()
