# SPDX-License-Identifier: Apache-2.0
"""lockstep report: words, tables and the page; a clear word for bad input; ten thousand runs."""
import csv
import io
import json
import os
import pathlib
import resource
import tempfile
import unittest

from made_runs import made_run, made_size_study, made_study, step_time
from program import lockstep


class Report(unittest.TestCase):
    def setUp(self):
        # In memory where that is possible: many small files are slow on a disk.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = tempfile.TemporaryDirectory(dir=memory)
        self.addCleanup(self.dir.cleanup)
        self.at = pathlib.Path(self.dir.name)

    def report(self, *arguments, code=0, **how):
        done = lockstep("report", *arguments, **how)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_a_study_is_answered_in_words_with_the_right_numbers(self):
        study = made_study(self.at / "study", steps=60)
        document = json.loads(self.report(study, "--json").stdout)
        self.assertEqual(document["schema"], 1)
        self.assertEqual(len(document["rows"]), 18)
        answer = document["answers"][0]
        point = document["points"][answer["point"]]
        self.assertIn(f"batch {point['per_rank']} on each", answer["sentence"])
        for part in ("how_sure", "why", "what_would_change"):
            self.assertGreater(len(answer[part]), 20)
        # Within 5 % of the fastest that keeps its accuracy, with the fewest devices.
        best = max(p["best_val_accuracy"] for p in document["points"])
        kept = [p for p in document["points"] if p["best_val_accuracy"] >= best - 0.02]
        self.assertLessEqual(point["epoch_s"], 1.05 * min(p["epoch_s"] for p in kept))
        text = self.report(study).stdout
        self.assertIn(answer["sentence"], text)
        self.assertIn(f"**{answer['sentence']}**", self.report(study, "--markdown").stdout)

    def test_a_choice_that_is_not_the_fastest_names_the_fastest(self):
        for name, step_s, chosen in (("near", 0.0102, 40), ("far", 0.012, 80)):
            runs = self.at / name / "runs"
            made_run(runs / "40" / "1", strategy="single", per_rank=40, step_s=step_s)
            made_run(runs / "80" / "1", strategy="single", per_rank=80, step_s=0.02)
            answer = json.loads(self.report(runs.parent, "--json").stdout)["answers"][0]
            self.assertIn(f"train on 1 device, batch {chosen}.", answer["sentence"])
            self.assertEqual("The fastest is 1 device, batch 80" in answer["why"], chosen == 40, answer)

    def test_speed_ups_and_the_bend_are_those_put_in(self):
        study = made_study(self.at / "study", steps=120)
        document = json.loads(self.report(study, "--json").stdout)
        for row in document["speedups"]:
            if row["scaling"] == "weak":
                true = row["ranks"] * step_time("linear", 1, row["batch"]) / step_time(
                    "linear", row["ranks"], row["batch"])
                self.assertAlmostEqual(row["speedup"] / true, 1, delta=0.02)
        bend = next(r for r in document["saturation"] if r["ranks"] == 1)
        self.assertAlmostEqual(bend["per_rank"], 40, delta=3)

    def test_sizes_that_scale_fade_and_choke_and_the_boundary_between(self):
        study = made_size_study(self.at / "study")
        document = json.loads(self.report(study, "--json").stdout)
        words = {(r["ranks"], r["parameter_bytes"], r["flops_a_sample"]): (r["verdict"], r["origin"])
                 for r in document["sizes"]}
        self.assertEqual(words, {
            (2, 4e5, 2e6): ("fades", "measured"), (2, 4e6, 2e6): ("chokes", "measured"),
            (2, 4e5, 2e7): ("scales", "measured"), (2, 4e6, 2e7): ("scales", "measured"),
            (4, 4e5, 2e6): ("fades", "predicted"), (4, 4e6, 2e6): ("chokes", "predicted"),
            (4, 4e5, 2e7): ("scales", "predicted"), (4, 4e6, 2e7): ("fades", "predicted")})
        two, four = document["boundaries"]
        self.assertEqual((two["scales_up_to"], two["chokes_from"]), (0.2, 2))
        self.assertEqual((four["scales_up_to"], four["chokes_from"]), (0.02, 2))
        self.assertIn("on 2 devices with ddp, batch 64 (measured)", two["sentence"])
        self.assertIn("on 4 devices with ddp, batch 64 (predicted)", four["sentence"])
        for text in (self.report(study).stdout, self.report(study, "--markdown").stdout):
            self.assertIn(two["sentence"], text)
            self.assertIn("Which sizes scale", text)
        other = self.report(made_study(self.at / "other", batches=(8, 16), steps=20)).stdout
        self.assertNotIn("Which sizes scale", other)

    def test_what_a_step_sends_is_told_by_payload(self):
        study = made_study(self.at / "study", ranks=(1, 2), batches=(8,), steps=20)
        rows = json.loads(self.report(study, "--json").stdout)["payloads"]
        step_s = step_time("linear", 2, 8)
        self.assertEqual(len(rows), 1)
        self.assertEqual((rows[0]["payload"], rows[0]["ranks"], rows[0]["messages_a_step"], rows[0]["bytes_a_step"]),
                         ("gradients", 2, 3, 48e6))
        # Three messages of 9 % of a step each, and a step spreads by 2 %.
        self.assertAlmostEqual(rows[0]["seconds_a_step"] / (0.27 * step_s), 1, delta=0.02)
        self.assertIn("\n## What a step sends, by payload\n", self.report(study, "--markdown").stdout)

    def test_overfitting_is_in_the_words_the_page_and_the_json(self):
        study = made_study(self.at / "study", ranks=(1,), batches=(8, 16), seeds=(1, 2), steps=20)
        rows = json.loads(self.report(study, "--json").stdout)["overfitting"]
        self.assertEqual([(r["global_batch"], r["runs"], r["epochs"]) for r in rows],
                         [(8, 2, 4), (16, 2, 4)])
        for row in rows:
            self.assertAlmostEqual(row["gap"], 0.03)
            self.assertEqual((row["turn_epoch"], row["note"]), (4, "it did not turn"))
        self.assertIn("\nOverfitting\n", self.report(study).stdout)
        self.assertIn("\n## Overfitting\n", self.report(study, "--markdown").stdout)
        for run in (study / "runs").rglob("epochs.csv"):
            run.write_text("\n".join(run.read_text().splitlines()[:2]) + "\n")
        self.assertNotIn("Overfitting", self.report(study).stdout)

    def test_rows_are_the_same_as_csv_and_json(self):
        study = made_study(self.at / "study", batches=(8, 16), steps=20)
        rows = json.loads(self.report(study, "--json").stdout)["rows"]
        table = list(csv.DictReader(io.StringIO(self.report(study, "--csv").stdout)))
        self.assertEqual(len(table), len(rows))
        for a, b in zip(table, rows):
            self.assertEqual(list(a), list(b))
            self.assertAlmostEqual(float(a["median_step_s"]), b["median_step_s"], 12)

    def test_one_run_is_told_by_itself(self):
        text = self.report(made_run(self.at / "run")).stdout
        self.assertIn("A step takes", text)

    def test_empty_half_written_newer_and_broken(self):
        (self.at / "empty").mkdir()
        self.assertIn("holds none", self.report(self.at / "empty", code=6).stderr)
        self.assertIn("is not a folder", self.report(self.at / "none", code=2).stderr)
        newer = made_run(self.at / "newer", schema=99)
        self.assertIn("schema 99", self.report(newer, code=6).stderr)
        study = self.at / "study"
        made_run(study / "runs" / "good")
        half = made_run(study / "runs" / "half", per_rank=64)
        (half / "record.json").unlink()
        (half / "epochs.csv").unlink()
        made_run(study / "runs" / "newer", schema=99)
        cut = made_run(study / "runs" / "cut")
        (cut / "record.json").write_text('{"schema": 1, "sta')
        notes = "\n".join(json.loads(self.report(study, "--json").stdout)["notes"])
        for word in ("half written", "schema 99", "cut"):
            self.assertIn(word, notes)

    def test_mixed_machines_and_lost_losses_are_said(self):
        study = self.at / "study"
        made_run(study / "runs" / "a", ranks=1, host="one", device="old")
        made_run(study / "runs" / "b", ranks=2, host="two", device="new", nan_loss=True)
        document = json.loads(self.report(study, "--json").stdout)
        self.assertEqual(document["scaling"], [])
        notes = "\n".join(document["notes"])
        self.assertIn("2 machines", notes)
        self.assertIn("diverged", notes)

    def test_without_plotly_one_clear_error_and_no_file(self):
        run = made_run(self.at / "run")
        page = self.at / "page.html"
        done = self.report(run, "--html", page, code=2, env={"LOCKSTEP_PLOTLY": "/no/such.js"})
        self.assertIn("LOCKSTEP_PLOTLY", done.stderr)
        self.assertFalse(page.exists())

    def test_ten_thousand_runs_in_ten_seconds_and_twenty_megabytes(self):
        study = many_runs(self.at / "study", 10_000)
        page = self.at / "page.html"
        # Processor time: the machine may be busy with other things.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.report(study, "--html", page, timeout=300)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 10)
        self.assertLess(page.stat().st_size, 20_000_000)
        self.assertIn("train on", done.stdout)


def many_runs(study, count):
    """One run's files under many names, with configurations enough for every figure."""
    first = made_run(study / "runs" / "00000", steps=12, epochs=2, ranks=2)
    record = (first / "record.json").read_text()
    for i in range(1, count):
        run = first.parent / f"{i:05}"
        run.mkdir()
        for name in ("machine.json", "steps.csv", "comm.csv", "epochs.csv"):
            os.link(first / name, run / name)
        (run / "record.json").write_text(
            record.replace('"per_rank": 32', f'"per_rank": {8 * (1 + i % 40)}')
            .replace('"ranks": 2', f'"ranks": {1 + i % 8}').replace('"seed": 1', f'"seed": {i}'))
    return study


if __name__ == "__main__":
    unittest.main()
