# SPDX-License-Identifier: Apache-2.0
"""What tests of predictions against measurements share: a model whose messages
show, its profile, what `predict` says of two ranks, and what a run took."""
import json
import statistics

from running import lockstep, rows

CYCLE = 8  # strategy.local_steps: local_sgd averages every so many steps
WARM_UP, STEPS = CYCLE, 3 * CYCLE
BATCH = 2

# Two samples a rank: little is computed for each byte that travels.
RECIPE = f"""
[model]
kind = "variable"
variable_params = PARAMS
variable_flops = FLOPS
[data]
kind = "synthetic"
synthetic_samples = {2 * BATCH * (WARM_UP + STEPS)}
split = "all"
[batch]
per_rank = {BATCH}
[train]
epochs = 1
threads = 1
[optim]
kind = "sgd"
momentum = 0.9
lr = 0.001
[store]
checkpoint = false
"""


def write_recipe(folder, params):
    path = folder / "two_ranks.toml"
    path.write_text(RECIPE.replace("PARAMS", str(params)).replace("FLOPS", str(2 * params)))
    return path


def ended_well(done):
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def profile(recipe, out):
    """Two at work beside each other, none sending: they share the memory's bandwidth."""
    ended_well(lockstep("profile", recipe, "--ranks", 2, "--batches", f"{BATCH // 2},{BATCH}", "--steps", 32, "--out", out))
    return out


def predicted(profile_file, machine, strategy):
    """What `predict` says of two ranks."""
    return json.loads(ended_well(lockstep("predict", profile_file, "--hardware", machine, "--strategy", strategy,
                                          "--ranks", 2, "--batch", BATCH, "--json")))["rows"][0]


def step_of(run, strategy):
    """Median step of rank 0; of local_sgd, whose steps differ, the mean over a cycle of medians."""
    steps = [float(r["step_s"]) for r in rows(run, "steps.csv") if r["rank"] == "0"][WARM_UP:]
    if strategy != "local_sgd":
        return statistics.median(steps)
    return statistics.mean(statistics.median(steps[place::CYCLE]) for place in range(CYCLE))


class Compared:
    """Measured steps of one strategy beside what was predicted of them. A machine that is busy shows it in what it
    profiles and probes: then the predictions differ, and what they span together is the interval."""

    def __init__(self, strategy):
        self.strategy, self.measured_s, self.said = strategy, [], []

    def add(self, measured_s, *said):
        self.measured_s.append(measured_s)
        self.said += said

    def inside(self):
        low, high = min(row["lo90_s"] for row in self.said), max(row["hi90_s"] for row in self.said)
        return low <= statistics.median(self.measured_s) <= high

    def __str__(self):
        def in_ms(values):
            return " ".join(f"{1e3 * value:.2f}" for value in values)
        return (f"{self.strategy}: measured {in_ms(self.measured_s)} ms, predicted "
                + ", ".join(f"{in_ms([row['step_s']])} ({in_ms([row['lo90_s'], row['hi90_s']])})" for row in self.said))


def agree(attempts, attempt, strategies):
    """Tries those that are outside again: another program may have come or gone. What is wrong stays wrong."""
    found = {strategy: Compared(strategy) for strategy in strategies}
    for number in range(attempts):
        attempt(number, [compared for compared in found.values() if number == 0 or not compared.inside()])
        if all(compared.inside() for compared in found.values()):
            return found
    raise AssertionError("; ".join(str(compared) for compared in found.values() if not compared.inside()))
