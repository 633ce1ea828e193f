# SPDX-License-Identifier: Apache-2.0
"""lockstep compare: words, sizes, exit codes; slow to accuse, clear about bad input."""
import json
import pathlib
import tempfile
import unittest

from made_runs import made_run
from program import lockstep


class Compare(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.at = pathlib.Path(self.dir.name)

    def run_of(self, name, **what):
        return made_run(self.at / name, **{"steps": 300, **what})

    def verdict(self, *arguments):
        done = lockstep("compare", *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        return {row["metric"]: row for row in rows}

    def test_equal_runs_are_the_same(self):
        rows = self.verdict(self.run_of("a"), self.run_of("b"))
        self.assertEqual(rows["step_s"]["verdict"], "SAME")
        self.assertLess(abs(rows["step_s"]["effect"]), 0.02)

    def test_a_slower_run_is_found_and_its_size_is_right(self):
        a, b = self.run_of("a"), self.run_of("b", step_s=0.011)
        row = self.verdict(a, b)["step_s"]
        self.assertEqual(row["verdict"], "SLOWER")
        self.assertLess(row["lo99"], 0.10)
        self.assertGreater(row["hi99"], 0.10)
        self.assertEqual(self.verdict(b, a)["step_s"]["verdict"], "FASTER")

    def test_fail_on_slower_is_7_only_when_it_is(self):
        a, b = self.run_of("a"), self.run_of("b", step_s=0.011)
        self.assertEqual(lockstep("compare", a, b, "--fail-on", "slower").returncode, 7)
        self.assertEqual(lockstep("compare", b, a, "--fail-on", "slower").returncode, 0)
        self.assertEqual(lockstep("compare", a, a, "--fail-on", "slower").returncode, 0)
        self.assertEqual(lockstep("compare", a, b, "--fail-on", "better").returncode, 2)

    def test_one_sample_is_unsure(self):
        row = self.verdict(self.run_of("a", steps=1), self.run_of("b", steps=1))["step_s"]
        self.assertEqual(row["verdict"], "UNSURE")
        self.assertIn("too few", row["why"])

    def test_other_machines_are_said_and_do_not_fail(self):
        a, b = self.run_of("a"), self.run_of("b", step_s=0.02, device="another")
        self.assertIn("different machines", lockstep("compare", a, b).stderr)
        done = lockstep("compare", a, b, "--fail-on", "slower")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not slower code", done.stderr)
        done = lockstep("compare", a, b, "--fail-on", "slower", "--across-machines")
        self.assertEqual(done.returncode, 7)

    def test_studies_are_compared_point_by_point(self):
        for side, slow in (("a", 1.0), ("b", 1.2)):
            self.run_of(f"{side}/runs/x", per_rank=32)
            self.run_of(f"{side}/runs/y", per_rank=64, step_s=0.02 * slow)
        done = lockstep("compare", self.at / "a", self.at / "b", "--json")
        words = {r["point"]: r["verdict"] for r in json.loads(done.stdout)["rows"]
                 if r["metric"] == "step_s"}
        self.assertEqual(sorted(words.values()), ["SAME", "SLOWER"])

    def test_nothing_in_common_and_nothing_there(self):
        a = self.run_of("a/runs/1")
        self.run_of("a/runs/2", per_rank=8)
        self.run_of("b/runs/1", per_rank=64)
        self.run_of("b/runs/2", per_rank=128)
        done = lockstep("compare", self.at / "a", self.at / "b")
        self.assertEqual(done.returncode, 2)
        self.assertIn("in common", done.stderr)
        self.assertEqual(lockstep("compare", a, self.at / "none").returncode, 2)

    def test_a_newer_record_and_missing_steps_are_6(self):
        a, newer = self.run_of("a"), self.run_of("b", schema=99)
        done = lockstep("compare", a, newer)
        self.assertEqual(done.returncode, 6)
        self.assertIn("schema 99", done.stderr)
        bare = self.run_of("c")
        (bare / "steps.csv").unlink()
        done = lockstep("compare", a, bare)
        self.assertEqual(done.returncode, 6)
        self.assertIn("no timed step", done.stderr)


if __name__ == "__main__":
    unittest.main()
