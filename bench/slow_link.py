#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts joined by a slow link against one host: seed 000's thesis on a real
network. The hosts are network namespaces of this machine (tools/two_hosts.sh),
one core each; the batch a host is the same on one and on two, as in a study of
weak scaling.

    python3 bench/slow_link.py [--rate 1gbit] [--out FOLDER]

FOLDER gets each run's record, steps.csv and comm.csv, the table, and the
record of the comparison (slow_link.json)."""
import argparse
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, new_record, write_record

CASES = [("linear", 10, 24), ("conv1d", 10, 12)]  # model, batch a host, steps
WARM_UP = 4
KEPT = ("config.toml", "machine.json", "record.json", "steps.csv", "comm.csv")


def run(args, model, batch, steps, hosts, out):
    train = [str(args.build / "bin/lockstep"), "train", str(ROOT / f"recipes/{model}.toml"), "--out", str(out)]
    for setting in (f"batch.per_rank={batch}", f"train.steps={steps + WARM_UP}", "train.threads=1",
                    "store.checkpoint=false", f"strategy.kind={'ddp' if hosts == 2 else 'single'}"):
        train += ["--set", setting]
    wrapper = [str(ROOT / "tools/two_hosts.sh"), args.rate] if hosts == 2 else ["taskset", "--cpu-list", "0"]
    done = subprocess.run(wrapper + train, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"slow_link: {model} on {hosts} hosts ended with {done.returncode}\n{done.stderr}")


def read(folder, name):
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


def summarise(folder, batch, hosts):
    steps = [row for row in read(folder, "steps.csv") if row["rank"] == "0"][WARM_UP:]

    def median(column):
        return statistics.median(float(row[column]) for row in steps)

    messages = [row for row in read(folder, "comm.csv") if row["rank"] == "0" and int(row["step"]) >= WARM_UP]
    return {"step_s": median("step_s"), "comm_s": median("comm_s"), "exposed_s": median("exposed_comm_s"),
            "samples_per_s": batch * hosts / median("step_s"),
            "bytes": sum(int(row["bytes"]) for row in messages) / len(steps)}


def keep(run_folder, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        shutil.copy(run_folder / name, folder / name)


def verdict(row):
    if row["hosts"] == 1:
        return ""
    return "chokes" if row["speed_up"] <= 1.05 else "scales" if row["speed_up"] >= 1.6 else "fades"


def table(record):
    lines = [f"# two hosts joined by {record['rate']}, one core a host, batch a host kept; medians",
             f"#{'model':>7} {'hosts':>5} {'step':>10} {'sent':>10} {'in flight':>10} {'exposed':>10} "
             f"{'samples/s':>10} {'speed-up':>8}"]
    for row in record["rows"]:
        line = (f"{row['model']:>8} {row['hosts']:>5} {row['step_s'] * 1e3:>7.1f} ms {row['bytes'] / 1e6:>7.2f} MB "
                f"{row['comm_s'] * 1e3:>7.1f} ms {row['exposed_s'] * 1e3:>7.1f} ms "
                f"{row['samples_per_s']:>10.1f} {row['speed_up']:>8.2f}  {verdict(row)}")
        lines.append(line.rstrip())
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    record = new_record("slow_link", rate=args.rate)
    with tempfile.TemporaryDirectory() as temporary:
        for model, batch, steps in CASES:
            alone = None
            for hosts in (1, 2):
                folder = pathlib.Path(temporary) / f"{model}_{hosts}"
                run(args, model, batch, steps, hosts, folder)
                row = summarise(folder, batch, hosts)
                alone = alone or row["samples_per_s"]
                record["rows"].append({"model": model, "hosts": hosts, **row,
                                       "speed_up": row["samples_per_s"] / alone})
                if args.out:
                    keep(folder, args.out / folder.name)
    text = table(record)
    print(text)
    if args.out:
        write_record(args.out / "slow_link.json", record)
        (args.out / "table.txt").write_text(text + "\n")


if __name__ == "__main__":
    main()
