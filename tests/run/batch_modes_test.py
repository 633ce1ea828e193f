# SPDX-License-Identifier: Apache-2.0
"""Batch sizes that change: noise measured, decisions taken, written and repeated."""
import json
import shutil
import signal
import unittest

from running import (Folder, epoch_results, lockstep, losses, record, rows,
                     sets, start, wait_for_steps)

# Decides often and from little, so that a small run has decisions to look at.
ADAPTIVE = ["batch.mode=adaptive", "batch.noise_every=2",
            "batch.decide_every=8", "batch.max_global=96", "batch.min_gain=0",
            "optim.kind=sgd", "optim.lr=0.02", "train.epochs=8"]


def decisions(run):
    return [json.loads(line) for line in
            (run / "decisions.jsonl").read_text().splitlines()]


class BatchModes(unittest.TestCase):
    def train(self, folder, name, *settings, more=()):
        run = folder.path / name
        done = lockstep("train", folder.recipe, "--out", run,
                        *sets(*settings), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return run

    def refused(self, folder, words, *settings):
        done = lockstep("train", folder.recipe, "--out", folder.path / "no",
                        *sets(*settings))
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_measuring_noise_changes_nothing_and_is_recorded(self):
        with Folder() as folder:
            for name, more in {"passes": ["batch.accumulate=3"],
                               "ranks": ["comm.ranks=2"],
                               "shards": ["comm.ranks=2",
                                          "strategy.kind=sharded"]}.items():
                with self.subTest(name):
                    plain = self.train(folder, name + "0", *more)
                    noisy = self.train(folder, name + "1", *more,
                                       "batch.noise_every=2")
                    self.assertEqual(losses(plain), losses(noisy))
                    self.assertFalse((plain / "noise.csv").exists())
                    measured = rows(noisy, "noise.csv")
                    self.assertGreater(len(measured), 2)
                    for row in measured:
                        self.assertEqual(int(row["step"]) % 2, 0)
                        self.assertGreater(float(row["part_sq"]),
                                           float(row["whole_sq"]) * 0.5)
                    said = record(noisy)["summary"]["noise_scale"]
                    self.assertEqual(said["every_steps"], 2)
                    self.assertEqual(said["samples"], len(measured))

    def test_a_rank_alone_measures_by_halves(self):
        with Folder() as folder:
            run = self.train(folder, "run", "batch.noise_every=3")
            for row in rows(run, "noise.csv"):
                self.assertEqual((row["parts"], row["part_batch"]), ("2", "6"))

    def test_an_adaptive_run_decides_says_why_and_can_be_repeated(self):
        with Folder() as folder:
            live = self.train(folder, "live", *ADAPTIVE)
            made = decisions(live)
            self.assertTrue(any(d["changed"] for d in made), made)
            for d in made:
                self.assertIn(str(d["global_batch"]), d["reason"])
                self.assertLessEqual(d["global_batch"], 96)
                self.assertGreaterEqual(d["gain"], 1)
                self.assertLessEqual(d["gain"], d["global_batch"] / 12 + 1e-9)
            said = record(live)["summary"]["adaptive_batch"]
            self.assertEqual(said["decisions"], len(made))
            self.assertGreaterEqual(said["progress_epochs"], 8)

            replay = ADAPTIVE + [f"batch.decisions={live / 'decisions.jsonl'}"]
            again = self.train(folder, "again", *replay)
            self.assertEqual(losses(again), losses(live))
            self.assertEqual(epoch_results(again), epoch_results(live))

            cut = folder.path / "cut"
            process = start("train", folder.recipe, "--out", cut,
                            *sets(*replay))
            wait_for_steps(cut, 30, process)
            process.send_signal(signal.SIGINT)
            if process.wait(timeout=60) == 130:
                done = lockstep("train", "--resume", cut)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(losses(cut), losses(live))
            self.assertEqual(len(decisions(cut)), len(made))

    def test_ranks_take_the_same_decisions_and_repeat_them(self):
        with Folder() as folder:
            settings = ADAPTIVE + ["comm.ranks=2", "batch.max_per_pass=10"]
            live = self.train(folder, "live", *settings)
            made = decisions(live)
            for d in made:
                self.assertLessEqual(d["global_batch"] / 2 / d["passes"], 12)
            again = self.train(
                folder, "again", *settings,
                f"batch.decisions={live / 'decisions.jsonl'}")
            self.assertEqual(losses(again), losses(live))

    def test_a_live_run_that_goes_on_keeps_its_averages(self):
        with Folder() as folder:
            cut = folder.path / "cut"
            process = start("train", folder.recipe, "--out", cut,
                            *sets(*ADAPTIVE, "train.epochs=60"))
            wait_for_steps(cut, 60, process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            before = len(rows(cut, "noise.csv"))
            done = lockstep("train", "--resume", cut)
            self.assertEqual(done.returncode, 0, done.stderr)
            after = rows(cut, "noise.csv")
            self.assertGreater(len(after), before)
            self.assertEqual([int(r["step"]) for r in after],
                             sorted({int(r["step"]) for r in after}))
            said = record(cut)["summary"]["noise_scale"]
            self.assertEqual(said["samples"] + said["dropped"], len(after))

    def test_a_pilot_picks_and_the_run_is_that_of_a_fixed_batch(self):
        with Folder() as folder:
            run = self.train(folder, "run", "batch.mode=information",
                             "batch.candidates=8,24", "batch.pilot_epochs=2")
            pilot = record(run)["summary"]["pilot"]
            self.assertIn(pilot["chosen"], (8, 24))
            self.assertEqual(len(pilot["candidates"]), 2)
            self.assertGreater(pilot["seconds"], 0)
            fixed = self.train(folder, "fixed", "batch.per_rank=0",
                               f"batch.global={int(pilot['chosen'])}")
            self.assertEqual(losses(run), losses(fixed))
            self.assertEqual(epoch_results(run), epoch_results(fixed))

    def test_a_range_test_says_where_the_loss_falls(self):
        with Folder() as folder:
            run = self.train(folder, "run", "optim.kind=sgd",
                             "optim.schedule=range", "optim.range_from=1e-5",
                             "optim.lr=30", "train.steps=60")
            rates = [float(r["lr"]) for r in rows(run, "range.csv")]
            self.assertEqual(len(rates), 60)
            self.assertAlmostEqual(rates[0], 1e-5)
            self.assertEqual(rates, sorted(rates))
            said = record(run)["summary"]["lr_range"]
            self.assertTrue("steepest_lr" in said or "no_result" in said)

    def test_the_rate_follows_the_batch(self):
        with Folder() as folder:
            run = self.train(folder, "run", "optim.lr_rule=linear",
                             "optim.base_batch=3", "train.epochs=1")
            self.assertAlmostEqual(float(rows(run, "epochs.csv")[0]["lr"]),
                                   0.012)

    def test_what_cannot_be_is_refused(self):
        with Folder() as folder:
            self.refused(folder, ["batch.candidates", "nothing to choose"],
                         "batch.mode=information", "batch.candidates=8")
            self.refused(folder, ["batch.decisions", "adaptive"],
                         "batch.decisions=x.jsonl")
            self.refused(folder, ["/no/such"], "batch.mode=adaptive",
                         "optim.kind=sgd", "batch.decisions=/no/such")
            self.refused(folder, ["measure.record"], "batch.mode=adaptive",
                         "measure.record=false")
            self.refused(folder, ["single, ddp and sharded"],
                         "batch.noise_every=2", "comm.ranks=2",
                         "strategy.kind=local_sgd")
            wrong = folder.path / "wrong.jsonl"
            wrong.write_text('{"step": 1}\n')
            self.refused(folder, ["wrong.jsonl:1", "not a decision"],
                         "batch.mode=adaptive", f"batch.decisions={wrong}")
            wrong.write_text("")
            shutil.rmtree(folder.path / "no", ignore_errors=True)
            self.refused(folder, ["has no decision for step 8"], *ADAPTIVE,
                         f"batch.decisions={wrong}")


if __name__ == "__main__":
    unittest.main()
