# SPDX-License-Identifier: Apache-2.0
"""Run and study folders with known numbers, as the program writes them."""
import json
import math
import pathlib
import random

STEPS = ("step,epoch,rank,samples,begin_s,data_s,copy_s,forward_s,backward_s,comm_s,"
         "exposed_comm_s,optim_s,wait_s,step_s,loss")
COMM = "step,rank,bucket,op,payload,bytes,issued_s,begin_s,end_s,bus_bytes_per_s"
EPOCHS = ("epoch,train_loss,train_accuracy,val_loss,val_accuracy,information_nats,lr,"
          "global_batch,peak_memory_bytes,device_busy,seconds,seconds_with_loading")


def config_of(model, strategy, ranks, per_rank, seed, emulated=False, size=None):
    sizes = {"variable_params": size[0], "variable_flops": size[1]} if size else {}
    return {"model": {"kind": model, "classes": 10, **sizes},
            "batch": {"per_rank": per_rank, "global": 0, "accumulate": 1},
            "train": {"device": "cpu", "seed": seed, "precision": "fp32"},
            "optim": {"lr": 0.01},
            "strategy": {"kind": strategy},
            "comm": {"kind": "emulated" if emulated else "threads", "ranks": ranks,
                     "link": "pcie3-shared" if emulated else ""}}


def toml_of(config):
    lines = []
    for section, fields in config.items():
        lines.append(f"[{section}]")
        lines += [f"{k} = {json.dumps(v)}" for k, v in fields.items()
                  if not (k == "global" and v == 0)]
    return "\n".join(lines) + "\n"


def step_rows(rng, ranks, per_rank, step_s, steps, spread, nan_loss):
    begin, rows, messages = 0.0, [], []
    for step in range(steps):
        took = step_s * math.exp(spread * rng.gauss(0, 1))
        comm = 0.25 * took if ranks > 1 else 0.0
        exposed = 0.4 * comm
        rest = took - exposed
        loss = "" if nan_loss else repr(2.3 * math.exp(-step / 50))
        for rank in range(ranks):
            rows.append(f"{step},0,{rank},{per_rank},{begin!r},{0.04 * rest!r},{0.01 * rest!r},"
                        f"{0.3 * rest!r},{0.55 * rest!r},{comm!r},{exposed!r},{0.08 * rest!r},"
                        f"{0.02 * rest!r},{took!r},{loss}")
        for bucket in range(3 if ranks > 1 else 0):
            at = begin + took * (0.5 + 0.12 * bucket)
            for rank in range(ranks):
                messages.append(f"{step},{rank},{bucket},all_reduce,gradients,16000000,"
                                f"{at!r},{at + 0.01 * took!r},{at + 0.1 * took!r},"
                                f"{16e6 / (0.09 * took)!r}")
        begin += took
    return rows, messages


def epoch_rows(epochs, batch, epoch_s, nan_loss):
    rows = []
    for e in range(epochs):
        loss = "" if nan_loss and e > 0 else repr(2.3 * math.exp(-0.4 * e) + 0.1)
        accuracy = 0.95 - 0.8 * math.exp(-0.5 * e) - 0.0001 * batch
        rows.append(f"{e},{loss},{accuracy!r},{2.3 * math.exp(-0.3 * e) + 0.2!r},"
                    f"{accuracy - 0.03!r},,0.01,{batch},{100_000_000 + 1000 * batch},0.9,"
                    f"{0.95 * epoch_s!r},{epoch_s!r}")
    return rows


def made_run(path, model="linear", strategy="ddp", ranks=1, per_rank=32, seed=1, step_s=0.01,
             steps=120, epochs=4, spread=0.02, host="here", device="made device",
             status="done", nan_loss=False, schema=1, emulated=False, samples=2000, size=None):
    """Writes one run folder and gives its path back."""
    path = pathlib.Path(path)
    path.mkdir(parents=True)
    rng = random.Random(f"{path.name}{seed}{ranks}{per_rank}{step_s}")
    config = config_of(model, strategy, ranks, per_rank, seed, emulated, size)
    batch = ranks * per_rank
    epoch_s = step_s * math.ceil(samples / batch)
    rows, messages = step_rows(rng, ranks, per_rank, step_s, steps, spread, nan_loss)
    (path / "config.toml").write_text(toml_of(config))
    (path / "machine.json").write_text(json.dumps(
        {"schema": 1, "host": host, "cores": 2, "memory_bytes": 8 << 30,
         "device": {"kind": "cpu", "name": device}}))
    (path / "steps.csv").write_text("\n".join([STEPS] + rows) + "\n")
    (path / "comm.csv").write_text("\n".join([COMM] + messages) + "\n")
    (path / "epochs.csv").write_text(
        "\n".join([EPOCHS] + epoch_rows(epochs, batch, epoch_s, nan_loss)) + "\n")
    (path / "record.json").write_text(json.dumps(
        {"schema": schema, "status": status, "reason": "", "command":
         f"lockstep train recipes/{model}.toml --ranks {ranks} --set batch.per_rank={per_rank}",
         "began_utc": "2026-11-15T12:00:00Z", "ended_utc": "2026-11-15T12:01:00Z",
         "backend": "threads", "versions": {"lockstep": "0.1.0"}, "config": config,
         "data": {"source": "made up", "train_samples": samples, "validation_samples": 200},
         "work": {"parameters": 12102220, "parameter_bytes": 48408880},
         "comm": {"messages_a_step": 3 if ranks > 1 else 0,
                  "bytes_a_step": 48000000 if ranks > 1 else 0},
         "summary": {"median_step_s": step_s, "timed_steps": steps}}))
    if status == "done":
        (path / "DONE").write_text("2026-11-15T12:01:00Z\n")
    return path


def step_time(model, ranks, per_rank):
    """A device that saturates at 40 samples and a link that costs 3 ms a doubling."""
    floor = 0.012 if model == "linear" else 0.05
    return floor * max(1.0, per_rank / 40) + 0.003 * math.log2(ranks)


def made_study(path, models=("linear",), ranks=(1, 2, 4), batches=(8, 16, 32, 64, 128, 256),
               seeds=(1,), steps=120):
    path = pathlib.Path(path)
    for model in models:
        for n in ranks:
            for batch in batches:
                for seed in seeds:
                    made_run(path / "runs" / f"{model}-{n}x{batch}-{seed}" / "1", model=model,
                             ranks=n, per_rank=batch, seed=seed, steps=steps,
                             strategy="ddp" if n > 1 else "single",
                             step_s=step_time(model, n, batch))
    return path


def made_profile(path, model="linear", batches=(8, 32, 128)):
    """Two layers: one costs 10 ms whatever the batch, one 0.25 ms a sample; 1 ms of update."""
    fixed, growing = [0.004] * len(batches), [1e-4 * b for b in batches]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(
        {"kind": "lockstep profile", "schema": 1, "model": model, "device": "made device", "software": "made", "precision": "fp32",
         "batches": batches, "step_s": [0.011 + 2.5e-4 * b for b in batches], "optimizer_s": 0.001, "jitter": 0.01,
         "input_samples_per_s": 0, "buffer_bytes": 0, "optimizer_bytes": 0, "input_bytes": 4, "output_bytes": 4,
         "gradient_order": [1, 0], "params": [{"name": "a.weight", "numel": 4, "layer": 0}, {"name": "b.weight", "numel": 4, "layer": 1}],
         "layers": [{"name": "a", "type": "Linear", "activation_bytes": 4, "output_bytes": 4, "forward_s": fixed,
                     "backward_s": [1.5 * s for s in fixed]},
                    {"name": "b", "type": "Linear", "activation_bytes": 4, "output_bytes": 4, "forward_s": growing,
                     "backward_s": [1.5 * s for s in growing]}]}))
    return path


# Parameters and FLOPs, with the speed-up on two devices (measured) and on four (predicted).
SIZES = (("variable 100k/2M", 100_000, 2_000_000, 1.3, 1.2), ("variable 1M/2M", 1_000_000, 2_000_000, 0.8, 0.5),
         ("variable 100k/20M", 100_000, 20_000_000, 1.9, 3.6), ("variable 1M/20M", 1_000_000, 20_000_000, 1.7, 2.0))


def made_size_study(path, batch=64, one_s=0.02):
    """Models of four sizes: one and two devices ran, four are predicted."""
    path = pathlib.Path(path)
    events = [{"event": "study", "schema": 1, "title": "Made sizes", "kind": "variable", "measure": "time",
               "points": len(SIZES), "version": "0.1.0", "command": "lockstep sweep made.toml"}]
    for name, params, flops, two, four in SIZES:
        for ranks, speedup in ((1, 1), (2, two)):
            made_run(path / "runs" / f"{ranks}-{params}-{flops}" / "1", model="variable", ranks=ranks,
                     per_rank=batch // ranks, size=(params, flops), steps=40, epochs=1,
                     strategy="ddp" if ranks > 1 else "single", step_s=one_s / speedup)
        point = {"host": "here", "time_utc": "2026-11-15T12:00:00Z", "point": f"4-{params}-{flops}"}
        axes = {"model": name, "strategy": "ddp", "ranks": 4, "global_batch": batch, "per_rank": batch / 4,
                "seed": 1, "device": "cpu", "arm": ""}
        settings = {"comm.ranks": 4, "model.variable_params": params, "model.variable_flops": flops}
        step_s = one_s / four
        events += [{"event": "queued", "settings": settings, "axes": axes, "mode": "predicted", "why": "", **point},
                   {"event": "predicted", "from": "made up", "step_s": step_s, "epoch_s": 32 * step_s,
                    "lo90_s": 30 * step_s, "hi90_s": 34 * step_s, "memory_bytes": 1e8, "fits": True, **point}]
    events[0] |= {"host": "here", "time_utc": "2026-11-15T12:00:00Z"}
    (path / "study.toml").write_text(
        f'[study]\nkind = "variable"\n[model]\nkind = "variable"\n[[grid]]\nbatch.global = {batch}\n')
    (path / "ledger.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    return path
