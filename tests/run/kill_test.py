# SPDX-License-Identifier: Apache-2.0
"""A run that is killed (-9) again and again ends where the unbroken one ends,
to the bit, with no step lost or repeated."""
import random
import time
import unittest

from running import Folder, epoch_results, kill, lockstep, losses, record, start

KILLS = 20


class Kill(unittest.TestCase):
    def test_killed_at_random_moments_it_loses_and_repeats_nothing(self):
        dice = random.Random(7)
        with Folder() as folder:
            whole = folder.path / "whole"
            # Long enough that every kill finds it at work.
            settings = ["--set", "train.epochs=400", "--set",
                        "store.every_steps=7"]
            self.assertEqual(
                lockstep("train", folder.recipe, "--out", whole,
                         *settings).returncode, 0)
            broken = folder.path / "broken"
            kills, begun = 0, False
            while kills < KILLS:
                process = (start("train", "--resume", broken) if begun else
                           start("train", folder.recipe, "--out", broken,
                                 *settings))
                # From the first moments of a process to deep inside training.
                time.sleep(dice.choice([0.05, 0.3, 0.6, 0.9, 1.2])
                           * dice.random() + 0.02)
                if process.poll() is not None:
                    self.assertEqual(process.returncode, 0)
                    break
                kill(process)
                kills += 1
                begun = (broken / "config.toml").exists()
            if not (broken / "DONE").exists():
                done = lockstep("train", "--resume", broken)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreaterEqual(kills, KILLS)
            self.assertEqual(losses(broken), losses(whole))
            self.assertEqual(epoch_results(broken), epoch_results(whole))
            self.assertEqual(record(broken)["status"], "done")


if __name__ == "__main__":
    unittest.main()
