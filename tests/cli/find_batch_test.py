# SPDX-License-Identifier: Apache-2.0
"""lockstep find-batch: what fits, what is best, and what it says when asked wrongly."""
import json
import os
import pathlib
import re
import tempfile
import unittest

from program import lockstep

RECIPE = """
[model]
kind = "variable"
variable_params = 200000
variable_flops = 400000
[data]
kind = "synthetic"
synthetic_samples = 300
[batch]
per_rank = 8
[train]
threads = 1
[optim]
lr = 0.01
"""


def is_sanitized():
    """A sanitizer ends the process where memory ends, whatever we do."""
    cache = pathlib.Path(os.environ.get("LOCKSTEP_BUILD", "")) / "CMakeCache.txt"
    return cache.is_file() and re.search(
        r"^LOCKSTEP_SANITIZE:\w+=\w", cache.read_text(), re.MULTILINE)


def is_study_build():
    return "study build" in lockstep("train", "x.toml").stderr


class FindBatch(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory(prefix="lockstep-")
        self.addCleanup(self._dir.cleanup)
        self.recipe = pathlib.Path(self._dir.name) / "small.toml"
        self.recipe.write_text(RECIPE)

    def find(self, *more):
        done = lockstep("find-batch", self.recipe, "--seconds", "30", "--json",
                        *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["rows"], done.stderr

    def test_finds_what_the_data_allows_and_the_best(self):
        if is_study_build():
            self.assertEqual(
                lockstep("find-batch", self.recipe).returncode, 2)
            return
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                found, said = self.find("--ranks", str(ranks))
                self.assertEqual([r["fits"] for r in found],
                                 [True] * len(found))
                self.assertEqual(found[-1]["per_rank_batch"], 240 // ranks)
                best = [r for r in found if "best" in r["note"]]
                self.assertEqual(len(best), 1)
                self.assertEqual(best[0]["goodput_per_s"],
                                 max(r["goodput_per_s"] for r in found))
                self.assertIn("the data has no more samples", said)

    def test_stops_where_memory_ends(self):
        if is_study_build():
            return
        none = lockstep("find-batch", self.recipe, "--memory-gb", "0.001")
        self.assertEqual(none.returncode, 4, none.stderr)
        self.assertIn("by the plan", none.stderr)
        if is_sanitized():
            return
        # An idle process takes about 150 MB.
        big = self.recipe.read_text().replace("synthetic_samples = 300",
                                              "synthetic_samples = 200000")
        self.recipe.write_text(big)
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                found, said = self.find("--memory-gb", "0.18", "--ranks",
                                        str(ranks))
                self.assertTrue(found[0]["fits"])
                self.assertFalse(found[-1]["fits"], found)
                self.assertIn("memory", said)

    def test_bad_input(self):
        self.assertEqual(lockstep("find-batch").returncode, 2)
        self.assertEqual(lockstep("find-batch", "/no/such.toml").returncode, 2)
        self.assertEqual(lockstep("find-batch", self.recipe, "--seconds",
                                  "-1").returncode, 2)


if __name__ == "__main__":
    unittest.main()
