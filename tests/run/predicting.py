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


def predicted(profiles, machine, strategy):
    """The step of two ranks by each profile, and what their 90 % intervals span together."""
    told = [json.loads(ended_well(lockstep("predict", p, "--hardware", machine, "--strategy", strategy, "--ranks", 2,
                                           "--batch", BATCH, "--json")))["rows"][0] for p in profiles]
    return {"step_s": [row["step_s"] for row in told], "lo90_s": min(row["lo90_s"] for row in told),
            "hi90_s": max(row["hi90_s"] for row in told)}


def step_of(run, strategy):
    """Median step of rank 0; of local_sgd, whose steps differ, the mean over a cycle of medians."""
    steps = [float(r["step_s"]) for r in rows(run, "steps.csv") if r["rank"] == "0"][WARM_UP:]
    if strategy != "local_sgd":
        return statistics.median(steps)
    return statistics.mean(statistics.median(steps[place::CYCLE]) for place in range(CYCLE))


def sentence(strategy, measured_s, said):
    middle = " and ".join(f"{1e3 * s:.2f}" for s in said["step_s"])
    return (f"{strategy}: measured {1e3 * measured_s:.2f} ms, predicted {middle} ms "
            f"({1e3 * said['lo90_s']:.2f} to {1e3 * said['hi90_s']:.2f})")
