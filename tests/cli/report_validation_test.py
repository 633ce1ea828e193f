# SPDX-License-Identifier: Apache-2.0
"""lockstep report of a stored validation: its scores, and what it says of a file that was spoilt."""
import json
import pathlib
import shutil
import tempfile
import unittest

from program import ROOT, lockstep

STORED = ROOT / "results/predict"
FILES = ("validation.json", "validation.csv", "epochs.csv")


class ReportValidation(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name in FILES:
            shutil.copy(STORED / name, self.folder)

    def report(self, *arguments, code=0):
        done = lockstep("report", self.folder, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_the_scores_are_those_of_the_stored_rows(self):
        document = json.loads(self.report("--json").stdout)
        self.assertEqual(document["verb"], "validation")
        rows = document["rows"]
        ours = next(s for s in document["scores"] if s["held_back_by"] == "source" and s["coverage"] is not None)
        self.assertEqual(len(rows), ours["rows"])
        # The rows are rounded to three digits.
        self.assertAlmostEqual(sum(abs(r["error"]) for r in rows) / len(rows), ours["mean_error"], delta=0.002)
        self.assertAlmostEqual(sum(r["inside"] for r in rows) / len(rows), ours["coverage"], delta=0.005)
        for part in ("by_link", "by_gpus"):
            some = [r for r in document[part] if r["held_back_by"] == "source"]
            self.assertEqual(sum(r["rows"] for r in some), len(rows))

    def test_words_and_tables_say_the_same(self):
        text = self.report().stdout
        self.assertIn("lockstep predict --table", text)
        self.assertIn("published results are predicted", text)
        self.assertIn("| source | lockstep predict --table | 2003 |", self.report("--markdown").stdout)
        self.assertTrue(self.report("--csv").stdout.startswith("held_back_by,predictor,rows,"))

    def test_a_spoilt_file_is_named_with_its_line(self):
        table = self.folder / "validation.csv"
        lines = table.read_text().splitlines()
        lines[3] = lines[3].rpartition(",")[0] + ",wide"
        table.write_text("\n".join(lines) + "\n")
        done = self.report(code=6)
        self.assertIn("validation.csv:4", done.stderr)
        self.assertIn("wide", done.stderr)
        table.write_text("model,gpus\na,2\n")
        self.assertIn("measured_efficiency", self.report(code=6).stderr)
        (self.folder / "validation.json").write_text("{}")
        self.assertIn("held_back_by", self.report(code=6).stderr)

    def test_options_of_studies_are_refused(self):
        self.report("--link", "ethernet-10g", code=2)
        self.report("--device", "A100", code=2)
        done = lockstep("report", self.folder, self.folder)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
