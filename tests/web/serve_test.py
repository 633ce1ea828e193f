# SPDX-License-Identifier: Apache-2.0
"""The live page in a real browser: a run that appears is drawn without a reload."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from chrome import Chrome  # noqa: E402
from made_runs import made_run  # noqa: E402
from served import Served  # noqa: E402


class Live(unittest.TestCase):
    def test_a_new_run_appears_by_itself(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=120) as chrome:
            study = pathlib.Path(folder)
            with Served(study) as served:
                chrome.open(served.address)
                self.assertIn("holds none", chrome.evaluate("document.getElementById('notes').textContent"))
                chrome.evaluate("window.same = true")
                made_run(study / "runs" / "one", per_rank=32)
                made_run(study / "runs" / "two", per_rank=64, step_s=0.015)
                chrome.until("document.querySelectorAll('#runs tbody tr').length === 2")
                chrome.until("document.querySelectorAll('.plot .main-svg').length > 0")
                self.assertIn("train on", chrome.evaluate("document.querySelector('.say').textContent"))
                self.assertIn("updated", chrome.evaluate("document.getElementById('live').textContent"))
                self.assertTrue(chrome.evaluate("window.same"), "the page was loaded again")
                self.assertEqual(chrome.complaints(), [])
                outside = [u for u in chrome.requested()
                           if not u.startswith((f"http://127.0.0.1:{served.port}/", "data:"))]
                self.assertEqual(outside, [])


if __name__ == "__main__":
    unittest.main()
