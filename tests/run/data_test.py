# SPDX-License-Identifier: Apache-2.0
"""lockstep data: list, check, make, fetch, as a user sees them."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import lockstep


class Data(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def run_in(self, *arguments):
        return lockstep("data", *arguments, cwd=self.root, env={"LOCKSTEP_DATA": ""})

    def make(self, kind, *options):
        done = self.run_in("make", kind, f"data/{kind}", *options)
        self.assertEqual(done.returncode, 0, done.stderr)

    def rows(self, *arguments):
        done = self.run_in(*arguments, "--json")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["schema"], answer["verb"]), (1, "data"))
        return done.returncode, answer["rows"]

    def test_what_was_made_is_listed_and_sound(self):
        for kind in ("digits", "cifar10", "images", "text"):
            self.make(kind, "--samples", "60", "--px", "32")
        _, rows = self.rows("list")
        found = {row["kind"]: row for row in rows}
        self.assertEqual({row["state"] for row in rows}, {"stand-in"})
        self.assertEqual(found["images"]["files"], 60)
        self.assertEqual(found["cifar10"]["bytes"], 60 * 3073)
        self.assertEqual(self.rows("check"), (0, []))

    def test_broken_files_are_named_and_the_code_is_3(self):
        self.make("digits", "--samples", "60")
        (self.root / "data/digits/recordings/4_synthetic_2.wav").write_text("")
        code, rows = self.rows("check", "digits")
        self.assertEqual(code, 3)
        self.assertEqual(len(rows), 1)
        self.assertIn("4_synthetic_2.wav: cannot be read", rows[0]["broken"])

    def test_no_data_says_how_to_get_it(self):
        done = self.run_in("check", "cifar10")
        self.assertEqual(done.returncode, 3)
        self.assertIn("lockstep data fetch cifar10", done.stderr)

    def test_make_needs_an_empty_folder(self):
        self.make("text")
        self.assertEqual(self.run_in("make", "text", "data/text").returncode, 6)
        self.assertEqual(self.run_in("make", "text").returncode, 2)

    def test_fetch_refuses_what_is_not_the_original(self):
        (self.root / "other.txt").write_text("not Shakespeare")
        done = self.run_in("fetch", "text", "--url", f"file://{self.root}/other.txt")
        self.assertEqual(done.returncode, 3)
        self.assertIn("is not the original: input.txt has another checksum", done.stderr)
        self.assertEqual(list((self.root / "data").iterdir()), [])

    def test_fetch_without_a_source_is_one_line_and_a_hint(self):
        done = self.run_in("fetch", "text", "--url", "http://127.0.0.1:9/input.txt")
        self.assertEqual(done.returncode, 3)
        errors = [line for line in done.stderr.splitlines() if line.startswith("lockstep:")]
        self.assertEqual(len(errors), 1)
        self.assertIn("could not be downloaded", errors[0])


if __name__ == "__main__":
    unittest.main()
