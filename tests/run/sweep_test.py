# SPDX-License-Identifier: Apache-2.0
"""A whole study with the real program: killed (-9) at random moments it repeats
nothing; two sweeps on one folder refuse each other; a moved folder goes on."""
import json
import os
import random
import shutil
import subprocess
import time
import unittest

from running import BIN, Folder, kill, lockstep, start, wait_for

STUDY = """
[study]
title = "small"
warmup_steps = 2
timed_steps = 6
min_repeats = 2
max_repeats = 2
deadline_s = 60.0
[model]
kind = "variable"
variable_params = 20000
variable_flops = 40000
[data]
kind = "synthetic"
synthetic_samples = 200
split = "random"
workers = 0
[train]
threads = 1
"""
GRID = """
[grid]
batch.global = [12, 24]
train.seed = [1, 2]
"""


def events(study):
    text = (study / "ledger.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def of(study, kind):
    return [e for e in events(study) if e["event"] == kind]


class Sweep(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.recipe = self.folder.path / "study.toml"
        self.recipe.write_text(STUDY + GRID)
        self.study = self.folder.path / "study"

    def finish(self):
        done = lockstep("sweep", "--resume", self.study, "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def check_complete(self, points, repeats):
        """Every run of every point once, none twice."""
        runs = [(e["point"], e["repeat"]) for e in of(self.study, "done")]
        self.assertEqual(len(runs), len(set(runs)))
        self.assertEqual(len(runs), points * repeats)
        self.assertEqual(len(of(self.study, "settled")), points)
        self.assertEqual(of(self.study, "failed"), [])
        for e in of(self.study, "done"):
            self.assertTrue((self.study / e["run"] / "DONE").exists())
            # An epoch's last, smaller step may be among them.
            self.assertGreaterEqual(e["result"]["timed_steps"], 5)

    def test_killed_at_random_moments_it_repeats_nothing(self):
        dice = random.Random(3)
        kills = 0
        while kills < 5:
            begun = len(events(self.study)) if self.study.exists() else 0
            process = (start("sweep", "--resume", self.study) if self.study.exists() else
                       start("sweep", self.recipe, "--out", self.study))
            # A slow build may not have begun by then, and nothing would be killed.
            wait_for(process, lambda: (self.study / "ledger.jsonl").exists()
                     and len(events(self.study)) > begun)
            time.sleep(1.5 * dice.random())
            if process.poll() is not None:
                self.assertEqual(process.returncode, 0)
                break
            kill(process)
            kills += 1
        self.assertGreater(kills, 0)
        # What was over before the last kill is not started again.
        before = [(e["point"], e["repeat"]) for e in of(self.study, "done")]
        count = len(of(self.study, "started"))
        table = self.finish()
        self.check_complete(points=4, repeats=2)
        self.assertLessEqual(len(of(self.study, "started")) - count, 8 - len(before))
        self.assertEqual(table.stdout.count(",measured,"), 4)

    def test_a_study_that_asks_for_it_ends_with_profiles_and_its_report_tells_the_layers(self):
        self.recipe.write_text(STUDY.replace("title", "profile = true\ntitle") + GRID)
        done = lockstep("sweep", self.recipe, "--out", self.study)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(of(self.study, "warned"), [e for e in of(self.study, "warned") if "profile" not in e["text"]])
        [file] = (self.study / "profiles").glob("*.json")
        self.assertEqual(json.loads(file.read_text())["batches"], [12, 24])
        # What is there is not measured again.
        before = file.stat().st_mtime_ns
        self.finish()
        self.assertEqual(file.stat().st_mtime_ns, before)
        document = json.loads(lockstep("report", self.study, "--json").stdout)
        layers = document["layer_times"][0]
        self.assertEqual(layers["batches"], [12, 24])
        self.assertEqual([x["layer"] for x in layers["layers"]][-2:], ["update", "between layers"])
        self.assertIn("one device: from 12 to 24", document["layer_sentences"][0])

    def test_a_training_that_was_cut_off_goes_on_from_its_checkpoint(self):
        self.recipe.write_text(STUDY.replace("title", 'measure = "train"\ntitle') + """
[store]
every_steps = 5
[grid]
batch.global = 12
train.epochs = 200
""")
        process = start("sweep", self.recipe, "--out", self.study)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(self.study.glob("runs/*/1/checkpoint/*")):
            time.sleep(0.02)
        kill(process)
        self.finish()
        self.assertIn("--resume", of(self.study, "started")[-1]["command"])
        self.assertEqual(len(of(self.study, "done")), 1)
        self.assertEqual(of(self.study, "done")[0]["result"]["epochs"], 200)

    def test_two_sweeps_on_one_folder_refuse_each_other(self):
        process = start("sweep", self.recipe, "--out", self.study)
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not (self.study / "ledger.jsonl").exists():
                time.sleep(0.01)
            second = lockstep("sweep", "--resume", self.study)
        finally:
            kill(process)
        self.assertEqual(second.returncode, 6, second.stderr)
        self.assertIn("another sweep works on it", second.stderr)

    def test_a_point_that_takes_too_long_or_cannot_be_costs_itself_alone(self):
        self.recipe.write_text(
            STUDY.replace("deadline_s = 60.0", "deadline_s = 8.0") + """
[[grid]]
batch.global = 12
[[grid]]
batch.global = 12
model.weights = "nowhere.safetensors"
[[grid]]
batch.global = 16
model.kind = "resnet34"
""")
        done = lockstep("sweep", self.recipe, "--out", self.study, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([r["status"] for r in rows][:1], ["measured"])
        whys = [e["why"] for e in of(self.study, "failed")]
        self.assertEqual(len(whys), 2, whys)
        self.assertEqual(whys[-1], "deadline")
        self.assertIn("nowhere.safetensors", done.stdout)

    def test_it_stops_when_its_minutes_are_over_and_goes_on_elsewhere(self):
        done = lockstep("sweep", self.recipe, "--out", self.study, "--max-minutes", "0.005")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--resume", done.stderr)
        self.assertEqual(of(self.study, "stopped")[-1]["why"], "--max-minutes")
        moved = self.folder.path / "elsewhere" / "study"
        moved.parent.mkdir()
        shutil.move(self.study, moved)
        self.study = moved
        self.finish()
        self.check_complete(points=4, repeats=2)

    def test_what_ran_stays_measured_where_there_is_less_room(self):
        self.recipe.write_text(STUDY + """
[grid]
batch.global = 12
comm.ranks = [1, 2]
""")
        self.assertEqual(lockstep("sweep", self.recipe, "--out", self.study).returncode, 0)
        before = [e["event"] for e in events(self.study)]
        one = min(os.sched_getaffinity(0))
        again = subprocess.run([BIN, "sweep", "--resume", self.study, "--predict-missing"],
                               preexec_fn=lambda: os.sched_setaffinity(0, {one}),
                               capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual([e["event"] for e in events(self.study)], before)


if __name__ == "__main__":
    unittest.main()
