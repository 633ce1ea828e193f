# SPDX-License-Identifier: Apache-2.0
"""What tests of whole runs share: starting the binary, a small recipe, reading
a run folder."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

BIN = os.environ["LOCKSTEP_BIN"]

# Small enough for a step of a millisecond, real enough to have every part:
# momentum, augmentation-free order, several epochs, a last short batch.
RECIPE = """
[model]
kind = "variable"
variable_params = 20000
variable_flops = 40000
[data]
kind = "synthetic"
synthetic_samples = 200
split = "random"
[batch]
per_rank = 12
[train]
epochs = 3
threads = 1
[optim]
kind = "adam"
lr = 0.003
[store]
every_steps = 3
"""


class Folder:
    """A temporary folder with the small recipe in it."""

    def __init__(self):
        self._dir = tempfile.TemporaryDirectory(prefix="lockstep-")
        self.path = pathlib.Path(self._dir.name)
        self.recipe = self.path / "small.toml"
        self.recipe.write_text(RECIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._dir.cleanup()


def lockstep(*args, env=None, timeout=240, **options):
    """Runs to its end and gives the completed process, output as text."""
    return subprocess.run(
        [BIN, *map(str, args)], capture_output=True, text=True, timeout=timeout,
        env={**os.environ, **(env or {})}, **options)


def start(*args, env=None, stderr=subprocess.DEVNULL):
    return subprocess.Popen([BIN, *map(str, args)], stdout=subprocess.DEVNULL,
                            stderr=stderr, env={**os.environ, **(env or {})})


def sets(*settings):
    """--set for each section.field=value."""
    return [word for s in settings for word in ("--set", s)]


def rows(run, name):
    with open(run / name, newline="") as file:
        return list(csv.DictReader(file))


def losses(run):
    """(step, loss as printed) of every step: equal text is equal bits."""
    return [(int(r["step"]), r["loss"]) for r in rows(run, "steps.csv")]


EPOCH_RESULTS = ["epoch", "train_loss", "train_accuracy", "val_loss",
                 "val_accuracy", "lr", "global_batch"]


def epoch_results(run):
    return [[r[c] for c in EPOCH_RESULTS] for r in rows(run, "epochs.csv")]


def record(run):
    return json.loads((run / "record.json").read_text())


def wait_for(process, happened, deadline_s=60):
    """Until something happened, or the process ended."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end and process.poll() is None and not happened():
        time.sleep(0.01)


def wait_for_steps(run, count, process):
    """Until the run has written so many steps, or ended."""
    def written():
        try:
            return len((run / "steps.csv").read_text().splitlines()) > count
        except FileNotFoundError:
            return False
    wait_for(process, written)


def spoil_checkpoints(run):
    """A file is where the checkpoints' folder was: the next one must fail."""
    (run / "checkpoint").rename(run / "moved")
    (run / "checkpoint").write_text("")


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
