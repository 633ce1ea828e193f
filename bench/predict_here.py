#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of this machine predicted from one, then measured: on threads, on
MPI and over a link of 1 Gbit/s between two network namespaces, by each
strategy. One core a rank, the batch a rank is the same on one and on two.

    python3 bench/predict_here.py [--rate 1gbit] [--out FOLDER]

A prediction knows the model on one rank (`lockstep profile`) and the link
(`lockstep probe`), no step of two ranks. FOLDER gets what it was made from,
the table and the record. Wants a quiet machine and two cores."""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from record import ROOT, new_record, write_record

# Samples of one rank, and the optimiser of the model's recipe.
MODELS = {
    "linear": (10, 'kind = "adam"\nlr = 0.0001'),
    "conv1d": (4, 'kind = "adam"\nlr = 0.0003'),
    "resnet18": (4, 'kind = "sgd"\nlr = 0.1\nmomentum = 0.9\nnesterov = true'),
}
# Synthetic samples: loading is no part of it. Enough for a run: local_sgd also averages where an epoch ends.
RECIPE = """[model]
kind = "{model}"
[data]
kind = "synthetic"
synthetic_samples = {samples}
split = "all"
[batch]
per_rank = {batch}
[train]
threads = 1
eval_every = 0
[optim]
{optim}
[store]
checkpoint = false
"""
STRATEGIES = ("ddp", "sharded", "local_sgd", "data_parallel")
CYCLE = 8  # local_sgd averages every so many steps (strategy.local_steps)
VERDICTS = (("scales", 0.8), ("fades", 1.05 / 2))  # efficiency at which each begins


def launcher(group, rate):
    return {"threads": [], "mpi": ["mpirun", "-n", "2", "--bind-to", "none"],
            "link": [str(ROOT / "tools/two_hosts.sh"), rate]}[group]


def start(args, group, verb, *arguments):
    command = launcher(group, args.rate) + [str(args.build / "bin/lockstep"), verb, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if done.returncode != 0:
        sys.exit(f"predict_here: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def batch_of(model):
    return MODELS[model][0]


def write_recipe(args, folder, model):
    batch, optim = MODELS[model]
    samples = 2 * batch * (CYCLE + args.steps)
    (folder / f"{model}.toml").write_text(RECIPE.format(model=model, batch=batch, optim=optim, samples=samples))


def groups_of(strategy):
    """data_parallel is one process."""
    return ("threads",) if strategy == "data_parallel" else ("threads", "mpi", "link")


def probe(args, folder):
    for group in ("threads", "mpi", "link"):
        ranks = ["--ranks", 2] if group == "threads" else []
        start(args, group, "probe", *ranks, "--threads", 1, "--out", folder / f"machine_{group}.json")


def profile(args, folder, model):
    """Alone, and beside another that sends nothing; of three in turn the middle one by its step."""
    batch = batch_of(model)
    made = {"alone": [], "beside": []}
    for number in range(3):
        for name, ranks in (("alone", 1), ("beside", 2)):
            out = folder / f"{model}_{name}_{number}.json"
            start(args, "threads", "profile", folder / f"{model}.toml", "--batches", f"{batch // 2},{batch}", "--steps",
                  args.steps, "--ranks", ranks, "--out", out)
            made[name].append((json.loads(out.read_text())["step_s"][-1], out))
    for name, files in made.items():
        sorted(files)[1][1].rename(folder / f"{model}_{name}.json")
        for _, out in files:
            out.unlink(missing_ok=True)


def asked(args, folder, model, name, group, *more):
    told = start(args, "threads", "predict", folder / f"{model}_{name}.json", "--hardware",
                 folder / f"machine_{group}.json", "--batch", batch_of(model), *more, "--json")
    return json.loads(told)["rows"][0]


def steps_of(args, group, strategy):
    """Warm-up and steps that count. Over the slow link the messages decide, and a few are enough."""
    return (2, args.steps // 2) if group == "link" and strategy != "local_sgd" else (CYCLE, args.steps)


def measure(args, folder, model, group, strategy):
    """Seconds of a step of rank 0; of local_sgd the mean over a cycle."""
    warm_up, count = steps_of(args, group, strategy)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        run = pathlib.Path(temporary) / "run"
        one = strategy == "single"
        ranks = [] if group in ("mpi", "link") else ["--ranks", 1 if one else 2]
        start(args, group, "train", folder / f"{model}.toml", "--set", f"strategy.kind={strategy}", "--set",
              f"train.steps={warm_up + count}", *ranks, "--out", run)
        with open(run / "steps.csv", newline="") as file:
            steps = [float(row["step_s"]) for row in csv.DictReader(file) if row["rank"] == "0"][warm_up:]
    if strategy != "local_sgd":
        return statistics.median(steps)
    return statistics.mean(statistics.median(steps[place::CYCLE]) for place in range(CYCLE))


def verdict(speed_up):
    return next((word for word, efficiency in VERDICTS if speed_up / 2 >= efficiency), "chokes")


def points():
    return [(model, group, strategy) for model in MODELS for strategy in STRATEGIES for group in groups_of(strategy)]


def row_of(args, folder, point, alone_s, steps_s):
    model, group, strategy = point
    predicted = asked(args, folder, model, "beside", group, "--strategy", strategy, "--ranks", 2)
    one_s = asked(args, folder, model, "alone", group, "--ranks", 1)["step_s"]
    measured_s = statistics.median(steps_s)
    return {"model": model, "group": group, "strategy": strategy, "batch": batch_of(model),
            "predicted_s": predicted["step_s"], "lo90_s": predicted["lo90_s"], "hi90_s": predicted["hi90_s"],
            "measured_s": measured_s, "samples_s": steps_s,
            "error": predicted["step_s"] / measured_s - 1,
            "inside": predicted["lo90_s"] <= measured_s <= predicted["hi90_s"],
            "predicted_speedup": 2 * one_s / predicted["step_s"], "measured_speedup": 2 * alone_s / measured_s,
            "predicted_verdict": verdict(2 * one_s / predicted["step_s"]),
            "measured_verdict": verdict(2 * alone_s / measured_s)}


def measure_all(args, folder):
    """Every point once, then every point again: what else runs here meets all of them alike."""
    taken = {}
    for repeat in range(args.repeats):
        for point in [(model, "threads", "single") for model in MODELS] + points():
            taken.setdefault(point, []).append(measure(args, folder, *point))
            print(f"# {repeat + 1}/{args.repeats} {' '.join(point)}: {taken[point][-1] * 1e3:.1f} ms", file=sys.stderr)
    return taken


def summary(rows):
    errors = [abs(row["error"]) for row in rows]
    return {"points": len(rows), "mean_error": statistics.mean(errors), "largest_error": max(errors),
            "bias": statistics.mean(row["error"] for row in rows),
            "inside": sum(row["inside"] for row in rows) / len(rows),
            "right_verdicts": sum(row["predicted_verdict"] == row["measured_verdict"] for row in rows) / len(rows)}


def markdown(record):
    s = record["summary"]
    lines = ["# Two ranks of this machine, predicted from one", "",
             f"{record['host']['processor']}, {record['host']['cores']} cores, one a rank; lockstep "
             f"{record['versions']['lockstep']}, LibTorch {record['versions']['libtorch']}; {record['date'][:10]}. The link is {record['rate']} between two network "
             "namespaces. A step is the median of a run's, of the runs the median; for local_sgd the mean of a cycle of "
             f"{CYCLE} steps. Made by", "", f"    {record['command']}", "",
             f"{s['points']} points: mean error {100 * s['mean_error']:.1f} %, largest {100 * s['largest_error']:.1f} %, "
             f"bias {100 * s['bias']:+.1f} %, {100 * s['inside']:.0f} % inside their 90 % interval, "
             f"{100 * s['right_verdicts']:.0f} % of verdicts right.", "",
             "| model | batch | group | strategy | predicted ms | 90 % interval | measured ms | error % | inside | "
             "predicted | measured |", "| --- | ---: | --- | --- | ---: | --- | ---: | ---: | --- | --- | --- |"]
    for row in record["rows"]:
        lines.append(f"| {row['model']} | {row['batch']} | {row['group']} | {row['strategy']} "
                     f"| {row['predicted_s'] * 1e3:.1f} | {row['lo90_s'] * 1e3:.1f} to {row['hi90_s'] * 1e3:.1f} "
                     f"| {row['measured_s'] * 1e3:.1f} | {100 * row['error']:+.1f} | {'yes' if row['inside'] else 'no'} "
                     f"| {row['predicted_verdict']} {row['predicted_speedup']:.2f} "
                     f"| {row['measured_verdict']} {row['measured_speedup']:.2f} |")
    return "\n".join(lines) + "\n"


def write(folder, record):
    write_record(folder / "predict_here.json", record)
    (folder / "README.md").write_text(markdown(record))
    with open(folder / "predict_here.csv", "w", newline="") as file:
        columns = [name for name in record["rows"][0] if name != "samples_s"]
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(record["rows"])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--steps", type=int, default=2 * CYCLE)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    for model in set(MODELS) - set(args.models.split(",")):
        del MODELS[model]
    return args


def main():
    args = parse()
    parts = json.loads(start(args, "threads", "version", "--json"))["rows"]
    record = new_record("predict_here", rate=args.rate, versions={row["part"]: row["version"] for row in parts})
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        probe(args, folder)
        for model in MODELS:
            write_recipe(args, folder, model)
            profile(args, folder, model)
        taken = measure_all(args, folder)
        for point in points():
            alone_s = statistics.median(taken[(point[0], "threads", "single")])
            record["rows"].append(row_of(args, folder, point, alone_s, taken[point]))
        record["summary"] = summary(record["rows"])
        print(markdown(record), end="")
        if args.out:
            write(folder, record)


if __name__ == "__main__":
    main()
