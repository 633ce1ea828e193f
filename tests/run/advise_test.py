# SPDX-License-Identifier: Apache-2.0
"""lockstep train --advise: measures, chooses, trains that way, and says afterwards how far it was off."""
import json
import os
import unittest

from running import Folder, lockstep

RECIPE = """
[model]
kind = "variable"
variable_params = 200000
variable_flops = 4000000
[data]
kind = "synthetic"
synthetic_samples = 960
split = "all"
[batch]
global = 32
[train]
epochs = 2
[optim]
kind = "sgd"
lr = 0.001
[store]
checkpoint = false
"""


class TrainAdvise(unittest.TestCase):
    def test_the_advice_is_what_runs_and_is_compared_with_what_came(self):
        with Folder() as folder:
            recipe, run = folder.path / "r.toml", folder.path / "run"
            recipe.write_text(RECIPE)
            done = lockstep("train", recipe, "--advise", "--out", run)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("# Train variable on ", done.stderr)
            record = json.loads((run / "record.json").read_text())
            choice = record["advice"]["choice"]
            config = record["config"]
            self.assertEqual(config["comm"]["ranks"], choice["ranks"])
            self.assertLessEqual(choice["ranks"], os.cpu_count())
            self.assertEqual(config["batch"]["global"], 32)
            self.assertEqual(config["strategy"]["kind"], choice["strategy"])
            self.assertIn("--advise", record["command"])
            # Times of this machine may jump: the comparison is checked, not its outcome.
            told = lockstep("report", run).stdout
            measured = record["summary"]["median_step_s"]
            inside = choice["step_lo90_s"] <= measured <= choice["step_hi90_s"]
            off = abs(measured / choice["step_s"] - 1)
            self.assertIn("Advice taken: ", told)
            self.assertIn("inside the interval" if inside else "outside the interval", told)
            self.assertLess(off, 3, told)

    def test_what_is_already_decided_is_refused(self):
        with Folder() as folder:
            recipe = folder.path / "r.toml"
            recipe.write_text(RECIPE)
            for arguments, words in ((("--ranks", 2), "says how many ranks"),
                                     (("--set", "comm.ranks=2"), "is already decided"),
                                     (("--set", "batch.mode=adaptive"), "chooses the batch"),
                                     (("--noise-scale", -3), "not a number from 0 on")):
                with self.subTest(arguments=arguments):
                    done = lockstep("train", recipe, "--advise", "--out", folder.path / "run", *arguments)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(words, done.stderr)
            alone = lockstep("train", recipe, "--noise-scale", 100, "--out", folder.path / "run")
            self.assertIn("belongs to --advise", alone.stderr)


if __name__ == "__main__":
    unittest.main()
