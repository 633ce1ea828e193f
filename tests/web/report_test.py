# SPDX-License-Identifier: Apache-2.0
"""The report's page in a real browser: draws, says what the JSON says, asks nobody for anything."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from chrome import Chrome  # noqa: E402
from made_runs import made_profile, made_run, made_size_study, made_study  # noqa: E402
from program import ROOT, lockstep  # noqa: E402

# Where to leave pictures for people to look at.
SHOTS = os.environ.get("LOCKSTEP_SHOTS")


def page_of(at, *folders):
    page = at / "page.html"
    done = lockstep("report", *folders, "--html", page, "--json", timeout=120)
    assert done.returncode == 0, done.stderr
    return page, json.loads(done.stdout)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.dir.name)
        study = made_study(cls.at / "study", models=("conv1d", "linear"), ranks=(1, 2, 4),
                           batches=(8, 16, 32, 64, 128), seeds=(1, 2), steps=60)
        made_run(study / "runs" / "emulated", model="linear", ranks=8, per_rank=32, emulated=True,
                 step_s=0.02, steps=60)
        made_profile(study / "profiles/linear.json")
        cls.page, cls.document = page_of(cls.at, study)
        cls.chrome = Chrome(timeout_s=240)

    @classmethod
    def tearDownClass(cls):
        cls.chrome.__exit__()
        cls.dir.cleanup()

    opened = None

    def open(self, width=1280, height=900, dark=False):
        """As it is, where it already is."""
        if Page.opened != (width, height, dark):
            self.chrome.open(self.page.as_uri(), width, height, dark)
            Page.opened = (width, height, dark)

    def shot(self, name):
        if SHOTS:
            self.chrome.screenshot(pathlib.Path(SHOTS) / f"{name}.png")

    def check_drawn(self, name):
        self.assertEqual(self.chrome.complaints(), [])
        drawn = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].map(p => !!p.querySelector('.main-svg') && "
            "p.querySelectorAll('.plot path, .plot .point, .plot image, .trace').length > 0)")
        self.assertGreaterEqual(len(drawn), 15)
        self.assertNotIn(False, drawn)
        # Nothing is wider than the window.
        self.assertLessEqual(self.chrome.evaluate("document.documentElement.scrollWidth"),
                             self.chrome.evaluate("innerWidth"))
        wide = self.chrome.evaluate(
            "[...document.querySelectorAll('figure')].filter(f => f.querySelector('.main-svg')"
            ".getBoundingClientRect().right > f.getBoundingClientRect().right + 1).length")
        self.assertEqual(wide, 0)
        self.shot(name)

    def test_wide_light(self):
        self.open(width=1300, height=900)
        self.check_drawn("wide")

    def test_wide_dark(self):
        self.open(width=1300, height=900, dark=True)
        self.check_drawn("dark")
        ground = self.chrome.evaluate("getComputedStyle(document.body).backgroundColor")
        self.assertLess(sum(map(int, ground[4:-1].split(","))), 150)

    def test_phone(self):
        self.open(width=390, height=844)
        self.check_drawn("phone")

    def test_paper(self):
        self.open()
        pdf = self.chrome.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(pdf), 50_000)
        if SHOTS:
            (pathlib.Path(SHOTS) / "paper.pdf").write_bytes(pdf)

    def test_the_first_screen_is_the_answer_in_words(self):
        self.open()
        said = self.chrome.evaluate(
            "[...document.querySelectorAll('.answer .say')].map(p => p.textContent)")
        self.assertEqual(said, [a["sentence"] for a in self.document["answers"]])
        self.assertLess(self.chrome.evaluate(
            "document.querySelector('.answer').getBoundingClientRect().bottom"), 900)
        for part in ("How sure", "Why", "What would change it"):
            self.assertIn(part, self.chrome.evaluate("document.body.innerText"))

    def test_numbers_on_the_page_are_those_of_the_json(self):
        self.open()
        lines = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].filter(p => p.getAttribute('aria-label')"
            ".startsWith('Epoch time')).flatMap(p => p.data.map(t => [t.name, t.x, t.y]))")
        drawn = {(x, y) for _, xs, ys in lines for x, y in zip(xs, ys)}
        wanted = {(p["global_batch"], p["epoch_s"]) for p in self.document["points"]}
        self.assertEqual(drawn, wanted)
        ranks = [p["ranks"] for p in self.document["points"]]
        self.assertIn(8, ranks)
        head = self.chrome.evaluate("[...document.querySelectorAll('#runs th')].map(t => t.textContent)")
        # A column in which no run says anything is left out.
        rows = self.document["rows"]
        self.assertEqual(head, [n for n in rows[0] if any(r[n] not in (None, "") for r in rows)])
        cells = self.chrome.evaluate(
            "[...document.querySelectorAll('#runs tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        self.assertEqual(len(cells), len(self.document["rows"]))
        column = head.index("median_step_s")
        for row, wanted_row in zip(cells, self.document["rows"]):
            self.assertEqual(row[0], wanted_row["run"])
            # Shown with five digits.
            self.assertAlmostEqual(float(row[column]) / wanted_row["median_step_s"], 1, 4)

    def test_speed_ups_are_those_of_the_json(self):
        self.open()
        drawn = set(map(tuple, self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].filter(p => /^Speed-up/.test(p.getAttribute('aria-label')))"
            ".flatMap(p => p.data.filter(t => t.mode === 'lines+markers').flatMap(t => t.x.map((x, i) => [x, t.y[i]])))")))
        wanted = {(t["ranks"], t["speedup"]) for s in self.document["scaling"] for t in s["steps"]}
        self.assertTrue(drawn)
        self.assertLessEqual(drawn, wanted)

    def test_layers_over_the_batch_are_those_of_the_json(self):
        self.open()
        [drawn] = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].filter(p => /^What a sample costs in/.test(p.getAttribute('aria-label')))"
            ".map(p => p.data.map(t => [t.name, t.x, t.y]))")
        [layers] = self.document["layer_times"]
        wanted = {x["layer"]: x["sample_s"] for x in layers["layers"]}
        # Nothing lies between these layers, and nothing is not drawn.
        self.assertEqual([name for name, _, _ in drawn], ["a", "b", "update"])
        for name, x, y in drawn:
            self.assertEqual(x, [8, 32, 128])
            for a, b in zip(y, wanted[name]):
                self.assertAlmostEqual(a / (1e6 * b), 1)
        # The bend at 40 samples is the study's; the profile has 32.
        self.assertIn("linear on made device, one device: from 8 to 32 a sample's time falls from 1.63 ms to 594 us (a 90.9 %, update 9.09 %)",
                      self.document["layer_sentences"][0])

    def test_every_axis_has_its_unit_and_every_figure_words(self):
        self.open()
        axes = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].map(p => [p.layout.xaxis.title.text, p.layout.yaxis.title.text])")
        bare = {"devices", "epoch", ""}  # counts and names have no unit
        for x, y in axes:
            for title in (x, y):
                self.assertTrue(title in bare or "(" in title or "×" in title, title)
        self.assertNotIn(True, self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].map(p => (p.getAttribute('aria-label') || '').length < 20)"))

    def test_bars_are_filled_so_that_they_can_be_seen(self):
        self.open()
        # A pattern that replaces the colour leaves white lines on nothing.
        modes = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].flatMap(p => p._fullData.filter(t => t.type === 'bar' && "
            "t.marker.pattern.shape).map(t => t.marker.pattern.fillmode))")
        self.assertEqual(set(modes), {"overlay"})

    def test_emulated_points_are_drawn_differently(self):
        self.open()
        dashes = self.chrome.evaluate(
            "[...document.querySelectorAll('.plot')].flatMap(p => p.data.filter(t => /emulated/.test(t.name || ''))"
            ".map(t => t.line.dash))")
        self.assertTrue(dashes)
        self.assertEqual(set(dashes), {"dot"})

    def test_nothing_is_asked_of_the_network(self):
        self.open()
        self.assertEqual([u for u in self.chrome.requested() if not u.startswith(("file:", "data:", "blob:"))], [])

    def test_filter_and_order_of_the_table(self):
        self.open()
        self.chrome.evaluate("const f = document.getElementById('filter'); f.value = 'conv1d';"
                             "f.dispatchEvent(new Event('input'))")
        self.assertEqual(self.chrome.evaluate("document.querySelectorAll('#runs tbody tr').length"), 30)
        self.chrome.evaluate("[...document.querySelectorAll('#runs th button')]"
                             ".find(b => b.textContent === 'median_step_s').click()")
        first = self.chrome.evaluate("document.querySelector('#runs tbody tr').cells[8].textContent")
        least = min(r["median_step_s"] for r in self.document["rows"] if r["model"] == "conv1d")
        self.assertAlmostEqual(float(first) / least, 1, 4)
        Page.opened = None  # the next one begins anew


class LearningStudy(unittest.TestCase):
    def test_the_seeds_learning_curves_are_drawn_by_number(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=90) as chrome:
            page, document = page_of(pathlib.Path(folder), ROOT / "results/study_qeios_1xh200_2026-11")
            chrome.open(page.as_uri())
            self.assertEqual(chrome.complaints(), [])
            figures = document["learning_figures"]
            self.assertEqual({f["number"] for f in figures}, {1, 2, 3, 4, 5, 6})
            drawn = chrome.evaluate(
                "[...document.querySelectorAll('.plot')].filter(p => /^Figure [1-6] of the seed/.test(p.getAttribute('aria-label')))"
                ".map(p => p.data.filter(t => t.line.dash === 'solid' && !t.xaxis).map(t => t.y))")
            self.assertEqual(drawn, [[[band[0] for band in line["val_accuracy"]] for line in f["lines"]] for f in figures])


class BatchStudy(unittest.TestCase):
    def test_which_batch_is_answered_and_its_growth_with_devices_drawn(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=90) as chrome:
            page, document = page_of(pathlib.Path(folder), ROOT / "results/study_batch_resnet18_1xh200_2026-11")
            chrome.open(page.as_uri())
            self.assertEqual(chrome.complaints(), [])
            said = chrome.evaluate("document.getElementById('batch').textContent")
            for answer in document["batch"]["answer"]:
                self.assertIn(answer, said)
            drawn = chrome.evaluate(
                "[...document.querySelectorAll('.plot')].filter(p => p.getAttribute('aria-label').startsWith('Best batch'))"
                ".flatMap(p => p.data.filter(t => t.mode === 'lines+markers').map(t => [t.x, t.y]))")
            wanted = {(r["ranks"], r["global_batch"]) for r in document["batch"]["devices"]}
            self.assertEqual({(x, y) for xs, ys in drawn for x, y in zip(xs, ys)}, wanted)
            # Runs by what varies; the folder's name stays in the JSON.
            runs = chrome.evaluate("document.getElementById('runs').textContent")
            self.assertIn("batch=64, lr_rule=linear", runs)
            self.assertNotIn(document["rows"][0]["run"], runs)


class Stevens(unittest.TestCase):
    """Figures of seed 000 from the committed study of two cores."""

    def test_the_seeds_figures_are_drawn_by_number_with_what_is_predicted_apart(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=90) as chrome:
            page, document = page_of(pathlib.Path(folder), ROOT / "results/study_stevens_short_2xcpu_2026-11")
            chrome.open(page.as_uri())
            self.assertEqual(chrome.complaints(), [])
            plots = ("[...document.querySelectorAll('figure')].filter(f => /of the seed/.test(f.querySelector('h3').textContent))"
                     ".map(f => f.querySelector('.plot'))")
            titles = chrome.evaluate(f"{plots}.map(p => p.parentElement.querySelector('h3').textContent)")
            self.assertEqual(titles, [f["title"] for f in document["numbered_figures"]])
            self.assertIn("Figure 5 of the seed: linear at batch 100", titles)
            drawn = chrome.evaluate(f"{plots}.map(p => p.data.flatMap(t => t.y))")
            for times, figure in zip(drawn, document["numbered_figures"]):
                self.assertEqual(sorted(times), sorted(t["epoch_s"] for t in figure["times"]))
            # A hatch says predicted, a plain bar measured.
            bars = chrome.evaluate(f"{plots}.flatMap(p => p.data).filter(t => t.type === 'bar')"
                                   ".map(t => [t.name, !!(t.marker.pattern || {}).shape])")
            self.assertEqual({hatched for name, hatched in bars if "predicted" in name}, {True})
            self.assertEqual({hatched for name, hatched in bars if "predicted" not in name}, {False})
            self.assertIn(document["figures_not_drawn"], chrome.evaluate("document.getElementById('figures').textContent"))
            self.assertIn("3 (linear at 20)", document["figures_not_drawn"])
            # Straight lines: the rate in the legend is that of the JSON.
            line = next(r for r in document["byte_lines"] if r["origin"] == "measured")
            names = chrome.evaluate("[...document.querySelectorAll('.plot')].filter(p => /epoch time over bytes/"
                                    ".test(p.getAttribute('aria-label'))).flatMap(p => p.data.map(t => t.name || ''))")
            rate = next(n for n in names if n.startswith("here, 2 devices:")).split()[3]
            self.assertAlmostEqual(float(rate) / (line["rate_bytes_per_s"] / 1e9), 1, 2)
            self.assertTrue(any(n.startswith("seed, 2 devices: 2.23 GB/s") for n in names), names)


class Sizes(unittest.TestCase):
    def test_a_map_of_sizes_says_the_word_in_each_cell_and_the_boundary_first(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=90) as chrome:
            at = pathlib.Path(folder)
            page, document = page_of(at, made_size_study(at / "study"))
            chrome.open(page.as_uri())
            self.assertEqual(chrome.complaints(), [])
            self.assertEqual(chrome.evaluate("document.querySelector('.answer').innerText.trim().split(/\\n+/)"),
                             [b["sentence"] for b in document["boundaries"]])
            maps = chrome.evaluate(
                "[...document.querySelectorAll('.plot')].filter(p => p.getAttribute('aria-label').startsWith('Map of sizes'))"
                ".map(p => [p.layout.xaxis.ticktext, p.layout.yaxis.ticktext, p.data[0].z, p.data[0].text,"
                " p.querySelectorAll('.heatmap-label').length])")
            self.assertEqual(len(maps), 2)
            for ranks, (x, y, z, text, labels) in zip((2, 4), maps):
                self.assertEqual((x, y), (["400 kB", "4.00 MB"], ["2 MFLOP", "20 MFLOP"]))
                rows = {(r["flops_a_sample"], r["parameter_bytes"]): r for r in document["sizes"] if r["ranks"] == ranks}
                wanted = [[rows[f, b] for b in (4e5, 4e6)] for f in (2e6, 2e7)]
                self.assertEqual(z, [[r["speedup"] for r in row] for row in wanted])
                star = "" if ranks == 2 else " *"
                self.assertEqual(text, [[f"{r['speedup']:.2f} ×{star}<br>{r['verdict']}" for r in row] for row in wanted])
                self.assertEqual(labels, 4)
            if SHOTS:
                chrome.screenshot(pathlib.Path(SHOTS) / "sizes.png")


class OddInput(unittest.TestCase):
    def test_hostile_names_nan_losses_and_one_sample_are_drawn_without_an_error(self):
        with tempfile.TemporaryDirectory() as folder, Chrome(timeout_s=90) as chrome:
            at = pathlib.Path(folder)
            made_run(at / "s" / "runs" / "<script>alert(1)<!--", nan_loss=True)
            made_run(at / "s" / "runs" / "one", steps=1, per_rank=64, epochs=1, samples=0)
            page, document = page_of(at, at / "s")
            chrome.open(page.as_uri())
            self.assertEqual(chrome.complaints(), [])
            self.assertIn("diverged", chrome.evaluate("document.getElementById('notes').textContent"))
            self.assertIn("<script>alert(1)<!--", chrome.evaluate("document.getElementById('runs').textContent"))
            self.assertEqual(len(document["rows"]), 2)


if __name__ == "__main__":
    unittest.main()
