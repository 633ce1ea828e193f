# SPDX-License-Identifier: Apache-2.0
"""Two ranks predicted before they have sent anything: a profile of two at work
beside each other and a probe of this machine's link say what the trainer then
measures."""
import json
import statistics
import unittest

from running import Folder, lockstep, rows

# Gradients of 4.8 MB a step: sending shows, and takes a few milliseconds.
RECIPE = """
[model]
kind = "variable"
variable_params = 1200000
variable_flops = 40000000
[data]
kind = "synthetic"
synthetic_samples = 1920
split = "all"
[batch]
per_rank = 16
[train]
epochs = 1
threads = 1
[optim]
kind = "sgd"
momentum = 0.9
lr = 0.001
[strategy]
kind = "ddp"
[store]
checkpoint = false
"""
ATTEMPTS = 3  # another program may run beside one of them


class PredictAndMeasure(unittest.TestCase):
    def attempt(self, path, number):
        """(predicted row, measured median step) of two ranks."""
        recipe, machine, profile = path / "r.toml", path / "machine.json", path / "profile.json"
        recipe.write_text(RECIPE)
        for done in (lockstep("probe", "--ranks", "2", "--threads", "1", "--out", machine),
                     lockstep("profile", recipe, "--ranks", "2", "--batches", "8,16", "--steps", "40", "--out",
                              profile)):
            self.assertEqual(done.returncode, 0, done.stderr)
        run = path / f"run{number}"
        done = lockstep("train", recipe, "--ranks", "2", "--out", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = lockstep("predict", profile, "--hardware", machine, "--strategy", "ddp", "--ranks", "2", "--batch",
                         "16", "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        steps = [float(r["step_s"]) for r in rows(run, "steps.csv") if r["rank"] == "0"][5:]
        return json.loads(asked.stdout)["rows"][0], statistics.median(steps)

    def test_a_step_of_two_ranks_lies_in_its_interval(self):
        told = []
        with Folder() as folder:
            for number in range(ATTEMPTS):
                row, measured_s = self.attempt(folder.path, number)
                told.append(f"measured {measured_s * 1e3:.2f} ms, predicted {row['step_s'] * 1e3:.2f} ms "
                            f"({row['lo90_s'] * 1e3:.2f} to {row['hi90_s'] * 1e3:.2f})")
                if row["lo90_s"] <= measured_s <= row["hi90_s"]:
                    return
        self.fail("; ".join(told))


if __name__ == "__main__":
    unittest.main()
