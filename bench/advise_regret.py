#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one run is worth: the batch advised from it against a full sweep.

    python3 bench/advise_regret.py STUDY PROFILE --target 0.91 [--hardware hgx-h200] [--out FILE]

For every fixed run of STUDY that reaches the target, `lockstep advise PROFILE --from RUN`
chooses among the study's batches on one device. The study itself says how much later that
batch is at the target than the study's best: the regret of asking after one run.
"""
import argparse
import json
import math
import pathlib
import subprocess

from record import ROOT, new_record, write_record


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=pathlib.Path)
    parser.add_argument("profile", help="of the study's model on the study's device")
    parser.add_argument("--target", type=float, required=True, help="accuracy, 0 to 1")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/lockstep")
    parser.add_argument("--hardware", default="hgx-h200")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def answer(args, *words):
    out = subprocess.run([str(args.binary), *map(str, words), "--json"], stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    return json.loads(out)


def times_to_target(args):
    """Seconds to the first evaluation at the target of each batch of the study; none for one
    that never gets there."""
    rows = answer(args, "batch", args.study, "--accuracy", args.target)["rows"]
    times = {int(r["global_batch"]): r["plain_time_s"] for r in rows}
    if len(times) < len(rows):
        raise SystemExit("advise_regret: a batch stands in several arms; take a study of one")
    return times


def fixed_runs(study):
    for record in sorted(study.glob("runs/*/*/record.json")):
        config = json.loads(record.read_text())["config"]
        if config["batch"]["mode"] == "fixed":
            batch = config["batch"]["global"] or config["batch"]["per_rank"]
            yield record.parent, batch, config["train"]["seed"]


def advised(args, run, batches):
    """The choice, or nothing where the run never got there."""
    words = ["advise", args.profile, "--hardware", args.hardware, "--ranks", 1, "--target",
             args.target, "--from", run, "--batch", ",".join(map(str, batches)), "--json"]
    done = subprocess.run([str(args.binary), *map(str, words)], capture_output=True, text=True,
                          check=False)
    if done.returncode and "runs reach" not in done.stderr:
        raise SystemExit(f"advise_regret: {' '.join(map(str, words))}: {done.stderr}")
    if done.returncode:
        return None
    rows = json.loads(done.stdout)["rows"]
    return next(int(r["global_batch"]) for r in rows if r["what"] == "choice")


def main():
    args = parse()
    times = times_to_target(args)
    best_s = min(s for s in times.values() if s)
    record = new_record("advise_regret", study=args.study.name, target=args.target, best_s=best_s)
    print(f"# {args.study.name}: the best batch of the sweep is at {args.target} after {best_s:.1f} s")
    print(f"#{'run at':>8} {'seed':>5} {'advised':>8} {'its time (s)':>13} {'regret (%)':>11}")
    for run, batch, seed in fixed_runs(args.study):
        choice = advised(args, run, times)
        if choice is None:
            print(f"{batch:>9} {seed:>5}     none: the run does not reach the target")
            continue
        # A batch that never gets there has no regret to speak of: it is lost.
        regret = times[choice] / best_s - 1 if times[choice] else None
        record["rows"].append({"batch": batch, "seed": seed, "advised": choice,
                               "time_s": times[choice], "regret": regret})
        print(f"{batch:>9} {seed:>5} {choice:>8} {times[choice] or math.nan:>13.1f} "
              f"{100 * (math.inf if regret is None else regret):>11.1f}", flush=True)
    if args.out:
        write_record(args.out, record)


if __name__ == "__main__":
    main()
