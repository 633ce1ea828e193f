# SPDX-License-Identifier: Apache-2.0
"""`lockstep sweep` without running anything: the list of points, and what is wrong with a grid."""
import json
import pathlib
import shutil
import tempfile
import unittest

from program import ROOT, lockstep

RECIPE = """
[study]
timed_steps = 10
warmup_steps = 2
hardware = "4x1080ti"
[model]
kind = "linear"
[data]
kind = "digits"
split = "all"
[train]
device = "cuda"
[derive]
lr_base = 0.1
lr_base_batch = 32
lr_rule = "linear"
[[grid]]
strategy.kind = "single"
batch.global = [20, 100]
[[grid]]
strategy.kind = "ddp"
comm.ranks = [2, 4]
batch.global = [20, 100]
[[exclude]]
comm.ranks = 4
batch.global = 20
"""
GOLDEN = """\
point,model,strategy,ranks,global_batch,mode,runs
1-single-1-20,linear,single,1,20,predicted,0
2-single-1-100,linear,single,1,100,predicted,0
3-ddp-2-20,linear,ddp,2,20,predicted,0
4-ddp-2-100,linear,ddp,2,100,predicted,0
5-ddp-4-100,linear,ddp,4,100,predicted,0
"""


class DryRun(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.recipe = pathlib.Path(self.dir.name) / "study.toml"

    def sweep(self, text, *options):
        self.recipe.write_text(text)
        return lockstep("sweep", self.recipe, "--dry-run", *options, cwd=self.dir.name,
                        env={"CUDA_VISIBLE_DEVICES": ""})

    def test_it_lists_the_points_with_predicted_time_and_memory(self):
        done = self.sweep(RECIPE, "--predict-missing", "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        head = [",".join(line.split(",")[:7]) for line in done.stdout.splitlines()]
        rows = json.loads(self.sweep(RECIPE, "--predict-missing", "--json").stdout)["rows"]
        if not any(r["mode"] == "timed" for r in rows):  # a machine without GPUs
            self.assertEqual("\n".join(head) + "\n", GOLDEN)
        for row in rows:
            self.assertGreater(row["predicted_step_s"], 0)
            self.assertGreater(row["predicted_memory_bytes"], 12102220 * 4)
            self.assertEqual(row["predicted_for"], "4x1080ti")
        self.assertIn("predicted", done.stderr)
        self.assertEqual(list(pathlib.Path(self.dir.name).iterdir()), [self.recipe])

    def test_it_says_when_nothing_of_it_could_run_here(self):
        rows = json.loads(self.sweep(RECIPE, "--json").stdout)["rows"]
        if any(r["mode"] == "timed" for r in rows):
            self.assertNotIn("need a GPU", self.sweep(RECIPE).stderr)
        else:  # a machine without GPUs
            self.assertIn(f"{len(rows)} of them need a GPU", self.sweep(RECIPE).stderr)
        self.assertNotIn("need a GPU", self.sweep(RECIPE, "--predict-missing").stderr)

    def test_every_recipe_of_a_study_is_one(self):
        recipes = sorted((ROOT / "recipes").glob("study_*.toml"))
        self.assertGreaterEqual(len(recipes), 10)
        for recipe in recipes:
            with self.subTest(recipe=recipe.name):
                done = lockstep("sweep", recipe, "--dry-run", "--json", "--hardware", "hgx-h200")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(json.loads(done.stdout)["rows"]), 3)

    def test_each_mistake_is_one_error_before_anything_is_made(self):
        for text, said in [
                (RECIPE.replace("comm.ranks = [2, 4]", "comm.ranks = []"), "an empty list"),
                (RECIPE.replace("comm.ranks = [2, 4]", "comm.rank = [2]"), "did you mean"),
                (RECIPE.replace("comm.ranks = 4", "comm.ranks = 9"), "matches no point"),
                (RECIPE.replace('"ddp"', '"single"'), "single trains on one rank"),
                (RECIPE.replace("[study]", "[studdy]"), "did you mean 'study'"),
                ("[model]\nkind = \"linear\"\n", "has no [grid]"),
                ("[grid]\nbatch.global = [1, 2\n", "study.toml:"),
                ("[grid]\nbatch.global = 1979-05-27\n", "study.toml:2:7")]:
            with self.subTest(said=said):
                self.recipe.write_text(text)
                done = lockstep("sweep", self.recipe, "--out", "new", cwd=self.dir.name)
                self.assertEqual(done.returncode, 2, done.stderr)
                # In a study build the verb itself is refused; the list is not.
                dry = self.sweep(text)
                self.assertEqual(dry.returncode, 2, dry.stderr)
                self.assertIn(said, dry.stderr)
                self.assertFalse((pathlib.Path(self.dir.name) / "new").exists())

    def test_dry_run_of_a_study_lists_what_is_left_of_it(self):
        # A whole study, as if it had been stopped before its third seeds.
        study = pathlib.Path(self.dir.name) / "stopped"
        shutil.copytree(ROOT / "results/study_batch_resnet18_1xh200_2026-11", study)
        ledger = [json.loads(line) for line in (study / "ledger.jsonl").read_text().splitlines()]
        third = {e["point"] for e in ledger if "-linear-3-" in e.get("point", "")}
        self.assertTrue(third)
        kept = [e for e in ledger if e["event"] == "queued" or e.get("point") not in third]
        (study / "ledger.jsonl").write_text("".join(json.dumps(e) + "\n" for e in kept))
        for point in third:
            shutil.rmtree(study / "runs" / point)
        before = sorted(p.name for p in study.rglob("*"))
        dry = lockstep("sweep", "--resume", study, "--dry-run", "--json")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        left = {row["point"] for row in json.loads(dry.stdout)["rows"]}
        self.assertEqual(left, third)
        self.assertIn(f"{len(left)} points left of 99", dry.stderr)
        # One device was measured at several batch sizes: the others follow it.
        self.assertIn("as measured here", dry.stdout)
        self.assertEqual(sorted(p.name for p in study.rglob("*")), before)

    def test_jobs_that_cannot_be_are_refused_before_anything_is_made(self):
        for jobs in ("0", "-2", "1025"):
            with self.subTest(jobs=jobs):
                done = self.sweep(RECIPE, "--jobs", jobs)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"--jobs: is {jobs}: 1 to 1024", done.stderr)
        done = self.sweep(RECIPE, "--predict-missing", "--jobs", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("one after the other", done.stderr)

    def test_a_run_cannot_be_made_of_a_study_nor_a_study_of_nothing(self):
        self.recipe.write_text(RECIPE)
        done = lockstep("config", self.recipe)
        self.assertEqual(done.returncode, 2)
        self.assertIn("lockstep sweep", done.stderr)
        self.assertEqual(lockstep("sweep").returncode, 2)
        self.assertEqual(lockstep("sweep", "--resume", "/nowhere", "--dry-run").returncode, 2)


if __name__ == "__main__":
    unittest.main()
