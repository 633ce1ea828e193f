# SPDX-License-Identifier: Apache-2.0
"""Runs that ran beside others: their accuracy counts, no verb shows or compares a time of theirs."""
import json
import pathlib
import tempfile
import unittest

from made_runs import made_run
from program import lockstep

WORDS = "ran beside others: not timed"


class SharedRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.study = pathlib.Path(folder.name) / "study"
        self.events = []
        for point, step_s in (("a", 0.010), ("b", 0.333), ("c", 0.444)):
            self.run_of(point, step_s, shared=point != "a")
        (self.study / "study.toml").write_text("[grid]\ntrain.seed = [1, 2, 3]\n")
        (self.study / "ledger.jsonl").write_text("".join(json.dumps(e) + "\n" for e in self.events))

    def run_of(self, point, step_s, shared):
        made_run(self.study / "runs" / point / "1", step_s=step_s, seed=ord(point) - 96, steps=300)
        axes = {"model": "linear", "strategy": "ddp", "ranks": 1, "global_batch": 32, "arm": ""}
        self.events.append({"event": "queued", "point": point, "mode": "train", "why": "", "axes": axes,
                            "settings": {"train.seed": ord(point) - 96}})
        done = {"event": "done", "point": point, "run": f"runs/{point}/1", "timed": not shared}
        self.events.append(done | ({"shared": True} if shared else {}))

    def test_a_report_has_the_times_of_the_others_alone(self):
        done = lockstep("report", self.study, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertIn(f"2 of 3 runs {WORDS}", document["notes"])
        self.assertEqual(len(document["points"]), 1)
        self.assertEqual(document["points"][0]["runs"], 3)
        self.assertAlmostEqual(document["points"][0]["step_s"], 0.010, delta=0.001)
        self.assertEqual(len(document["curves"]), 3)
        for row in document["rows"]:
            timed = row["origin"] == "measured"
            self.assertEqual(timed, row["run"].startswith("a/"))
            self.assertEqual(row["median_step_s"] is not None, timed)
            self.assertEqual(row["median_epoch_s"] is not None, timed)
            self.assertEqual(row["reason"], "" if timed else WORDS)
            self.assertIsNotNone(row["final_train_loss"])

    def test_a_study_of_such_runs_alone_has_no_answer_but_its_curves(self):
        ledger = self.study / "ledger.jsonl"
        ledger.write_text(ledger.read_text().replace('"timed": true', '"timed": false, "shared": true'))
        document = json.loads(lockstep("report", self.study, "--json").stdout)
        self.assertIsNone(document["points"][0]["step_s"])
        self.assertEqual(document["points"][0]["why"], WORDS)
        self.assertEqual(len(document["curves"]), 3)
        done = lockstep("report", self.study, "--markdown")
        self.assertIn("No run was timed: only what was learnt can be compared. Best on validation at the end", done.stdout)
        self.assertEqual(document["untimed_answer"], next(l for l in done.stdout.splitlines() if l.startswith("No run was timed")))

    def test_one_of_them_shows_its_epochs_and_no_time(self):
        for path in (self.study / "runs/b/1", f"{self.study}/runs/b/1/"):
            done = lockstep("report", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"This run {WORDS}.", done.stdout)
            self.assertNotIn("333", done.stdout)
        self.assertIn("A step takes 10", lockstep("report", self.study / "runs/a/1").stdout)

    def test_one_of_them_is_not_compared(self):
        a, b = self.study / "runs/a/1", self.study / "runs/b/1"
        self.assertEqual(lockstep("compare", a, a).returncode, 0)
        done = lockstep("compare", a, b)
        self.assertEqual(done.returncode, 2)
        self.assertIn(WORDS, done.stderr)
        whole = lockstep("compare", self.study, self.study)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertIn(f"b/1 left out: {WORDS}", whole.stderr)


if __name__ == "__main__":
    unittest.main()
