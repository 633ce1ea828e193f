# SPDX-License-Identifier: Apache-2.0
"""The page of a validation in a real browser: a mark a row, where its row says, around the diagonal."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from chrome import Chrome  # noqa: E402
from program import ROOT, lockstep  # noqa: E402

SHOTS = os.environ.get("LOCKSTEP_SHOTS")
TRACES = """[...document.querySelectorAll('.plot')].map(p => p.data.map(
    t => ({name: t.name, type: t.type, mode: t.mode, x: [...t.x], y: [...t.y]})))"""


class ValidationPage(unittest.TestCase):
    def test_marks_lie_where_the_rows_say(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=120) as chrome:
            page = pathlib.Path(folder) / "page.html"
            done = lockstep("report", ROOT / "results/predict", "--html", page, "--json", timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            for width, dark in ((1280, False), (390, True)):
                chrome.open(page.as_uri(), width=width, dark=dark)
                self.assertEqual(chrome.complaints(), [])
                self.assertLessEqual(chrome.evaluate("document.documentElement.scrollWidth"), width)
                if SHOTS:
                    chrome.screenshot(pathlib.Path(SHOTS) / f"validation_{width}.png")
            scatter, epochs, by_link, by_gpus, coverage = chrome.evaluate(TRACES)
            marks = sorted((x, y) for t in scatter if t["mode"] == "markers" for x, y in zip(t["x"], t["y"]))
            self.assertEqual(marks, sorted((r["measured_efficiency"], r["predicted"]) for r in document["rows"]))
            line = next(t for t in scatter if t["name"] == "predicted = measured")
            self.assertEqual(line["x"], line["y"])
            self.assertEqual(sum(len(t["x"]) for t in epochs if t["mode"] == "markers"), len(document["epochs"]))
            for bars, part in ((by_link, "by_link"), (by_gpus, "by_gpus")):
                some = [r for r in document[part] if r["held_back_by"] == "source"]
                self.assertEqual(bars[0]["y"], [r["mean_error"] for r in some])
                self.assertEqual(bars[1]["y"], [r["p95_error"] for r in some])
            self.assertEqual(len(coverage), 3)
            self.assertIn(document["answers"][0]["sentence"],
                          chrome.evaluate("document.querySelector('.say').textContent"))


if __name__ == "__main__":
    unittest.main()
