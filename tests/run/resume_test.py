# SPDX-License-Identifier: Apache-2.0
"""Interrupting, going on, and what must stay equal to the bit."""
import signal
import unittest

from running import (Folder, epoch_results, lockstep, losses, record, rows,
                     start, wait_for_steps)


class Resume(unittest.TestCase):
    def interrupted(self, number, code, *more):
        with Folder() as folder:
            whole, cut = folder.path / "whole", folder.path / "cut"
            settings = ["--set", "train.epochs=60", *more]
            lockstep("train", folder.recipe, "--out", whole, *settings)
            process = start("train", folder.recipe, "--out", cut, *settings)
            wait_for_steps(cut, 40, process)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), code)
            self.assertEqual(record(cut)["status"], "interrupted")
            self.assertFalse((cut / "DONE").exists())
            self.assertLess(len(losses(cut)), len(losses(whole)))
            done = lockstep("train", "--resume", cut)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((cut / "DONE").exists())
            self.assertEqual(losses(cut), losses(whole))
            self.assertEqual(epoch_results(cut), epoch_results(whole))

    def test_ctrl_c_leaves_a_checkpoint_and_130(self):
        self.interrupted(signal.SIGINT, 130)

    def test_sigterm_leaves_a_checkpoint_and_143(self):
        self.interrupted(signal.SIGTERM, 143)

    def test_an_average_of_the_weights_goes_on(self):
        self.interrupted(signal.SIGTERM, 143, "--set", "optim.lookahead_steps=5")

    def test_more_epochs_can_be_asked_for_afterwards(self):
        with Folder() as folder:
            long, short = folder.path / "long", folder.path / "short"
            lockstep("train", folder.recipe, "--out", long)
            lockstep("train", folder.recipe, "--out", short, "--set",
                     "train.epochs=2")
            self.assertEqual(
                lockstep("train", "--resume", short).returncode, 6)
            more = lockstep("train", "--resume", short, "--set",
                            "train.epochs=3")
            self.assertEqual(more.returncode, 0, more.stderr)
            self.assertEqual(losses(short), losses(long))

    def test_other_settings_cannot_change(self):
        with Folder() as folder:
            run = folder.path / "run"
            lockstep("train", folder.recipe, "--out", run)
            changed = lockstep("train", "--resume", run, "--set",
                               "optim.lr=0.5")
            self.assertEqual(changed.returncode, 2)
            self.assertIn("optim.lr", changed.stderr)


class Bits(unittest.TestCase):
    def test_the_same_seed_gives_the_same_losses(self):
        with Folder() as folder:
            runs = [folder.path / name for name in "abc"]
            lockstep("train", folder.recipe, "--out", runs[0])
            lockstep("train", folder.recipe, "--out", runs[1], "--set",
                     "data.workers=0")
            lockstep("train", folder.recipe, "--out", runs[2], "--set",
                     "train.seed=2")
            self.assertEqual(losses(runs[0]), losses(runs[1]))
            self.assertNotEqual(losses(runs[0]), losses(runs[2]))

    def test_recording_changes_no_loss(self):
        with Folder() as folder:
            a, b = folder.path / "a", folder.path / "b"
            lockstep("train", folder.recipe, "--out", a)
            lockstep("train", folder.recipe, "--out", b, "--set",
                     "measure.record=false")
            self.assertEqual(epoch_results(a), epoch_results(b))
            self.assertEqual(rows(b, "steps.csv"), [])

    def test_a_resident_set_gives_the_same_losses(self):
        with Folder() as folder:
            a, b = folder.path / "a", folder.path / "b"
            lockstep("train", folder.recipe, "--out", a)
            done = lockstep("train", folder.recipe, "--out", b, "--set",
                            "data.resident=true")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(losses(a), losses(b))

    def test_accumulation_trains_on_the_same_samples(self):
        with Folder() as folder:
            run = folder.path / "run"
            done = lockstep("train", folder.recipe, "--out", run, "--set",
                            "batch.per_rank=4", "--set", "batch.accumulate=3")
            self.assertEqual(done.returncode, 0, done.stderr)
            first = rows(run, "steps.csv")[0]
            self.assertEqual(first["samples"], "12")


if __name__ == "__main__":
    unittest.main()
