# SPDX-License-Identifier: Apache-2.0
"""The page of a profile in a real browser: a dot a layer under two ceilings, and bars."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from chrome import Chrome  # noqa: E402
from program import ROOT, lockstep  # noqa: E402

PROFILE = ROOT / "results/emulated_1xh200_2026-11/resnet18_profile.json"
SHOTS = os.environ.get("LOCKSTEP_SHOTS")
TRACES = """[...document.querySelectorAll('.plot')].map(p => p.data.map(
    t => ({name: t.name, mode: t.mode, x: [...t.x], y: [...t.y]})))"""


class ProfilePage(unittest.TestCase):
    def page(self, folder, profile):
        page = pathlib.Path(folder) / "page.html"
        done = lockstep("report", profile, "--html", page, "--json", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return page.as_uri(), json.loads(done.stdout)

    def test_dots_lie_where_the_rows_say_under_the_ceilings(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=120) as chrome:
            address, document = self.page(folder, PROFILE)
            for width, dark in ((1280, False), (390, True)):
                chrome.open(address, width=width, dark=dark)
                self.assertEqual(chrome.complaints(), [])
                self.assertLessEqual(chrome.evaluate("document.documentElement.scrollWidth"), width)
                if SHOTS:
                    chrome.screenshot(pathlib.Path(SHOTS) / f"profile_{width}.png")
            roofline, bars = chrome.evaluate(TRACES)
            dots = {(round(x, 6), round(y, 6)) for t in roofline if t["mode"] == "markers"
                    for x, y in zip(t["x"], t["y"])}
            rows = [r for r in document["rows"] if r["layer"] != "step"]
            counted = [r for r in rows if r["flops"]]
            self.assertEqual(dots, {(round(r["flops"] / r["bytes"], 6),
                                     round(r["flops_per_s"] / 1e12, 6)) for r in counted})
            slope, roof = [t for t in roofline if t["mode"] == "lines"]
            self.assertAlmostEqual(slope["y"][0] / slope["x"][0], 4.8)
            self.assertEqual(roof["y"], [989, 989])
            for i, row in enumerate(rows):
                self.assertAlmostEqual(sum(t["y"][i] for t in bars), 1e3 * row["step_s"], 6)
            self.assertIn(document["answers"][0]["sentence"],
                          chrome.evaluate("document.querySelector('.say').textContent"))

    def test_without_flops_there_are_bars_alone(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=120) as chrome:
            own = pathlib.Path(folder) / "own.json"
            own.write_text(json.dumps({**json.loads(PROFILE.read_text()), "model": "</script>mine"}))
            address, _ = self.page(folder, own)
            chrome.open(address)
            self.assertEqual(chrome.complaints(), [])
            self.assertEqual(len(chrome.evaluate(TRACES)), 1)
            self.assertIn("</script>mine", chrome.evaluate("document.getElementById('title').textContent"))
            self.assertIn("FLOPs are unknown", chrome.evaluate("document.getElementById('notes').textContent"))


if __name__ == "__main__":
    unittest.main()
