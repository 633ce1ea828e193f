# SPDX-License-Identifier: Apache-2.0
"""lockstep batch on the published ResNet-18 / CIFAR-10 traces (tests/batch/data)."""
import csv
import io
import json
import pathlib
import shutil
import tempfile
import unittest

from program import ROOT, lockstep

# On one H200; a part of its grid.
STUDY = ROOT / "results/study_batch_resnet18_1xh200_2026-11"
# Two epochs of 160 images: every net guesses.
NOTHING_LEARNT = ROOT / "results/study_qeios_short_2xcpu_2026-11"
TRACES = ROOT / "tests/batch/data/pollux_cifar10"


def batch(*arguments):
    return lockstep("batch", TRACES, *arguments)


class Batch(unittest.TestCase):
    def test_the_published_table_is_found_again(self):
        done = batch("--accuracy", "0.94", "--crossing", "evaluation", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        minutes = {(r["ranks"], r["global_batch"]): r["information_time_s"] / 60
                   for r in found["rows"]}
        self.assertAlmostEqual(minutes[1, 512], 43.0, delta=0.06)
        self.assertAlmostEqual(minutes[4, 128], 25.4, delta=0.06)
        self.assertAlmostEqual(minutes[8, 2048], 11.5, delta=0.06)
        self.assertAlmostEqual(minutes[16, 4096], 6.7, delta=0.06)
        self.assertNotIn((16, 128), minutes)
        picks = {(c["ranks"], c["criterion"]): c for c in found["choices"]}
        self.assertEqual(picks[1, "information"]["global_batch"], 512)
        self.assertEqual(picks[8, "information"]["global_batch"], 2048)
        self.assertAlmostEqual(picks[1, "goodput"]["formula_batch"], 322, delta=2)

    def test_text_has_the_table_the_choice_and_the_reason(self):
        done = batch("--devices", "1,16")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("picked by", "information", "goodput", "noise scale", "plain time",
                      "plain accuracy", "extra time", "first to 1.9373 nats", "no sensitivity"):
            self.assertIn(words, done.stdout)
        self.assertIn("critical batch 3318", done.stderr)
        self.assertIn("10 classes and 10000 validation examples are taken", done.stderr)

    def test_csv_is_one_table_with_the_same_fields(self):
        rows = json.loads(batch("--json").stdout)["rows"]
        table = list(csv.DictReader(io.StringIO(batch("--csv").stdout)))
        self.assertEqual(list(table[0]), list(rows[0]))
        self.assertEqual(len(table), len(rows))
        choices = batch("--csv", "--table", "choices").stdout.splitlines()[0]
        self.assertEqual(choices, "ranks,criterion,global_batch,formula_batch,low,high,"
                                  "extra_time,reason")

    def test_the_documentation_shows_what_the_program_prints(self):
        page = (ROOT / "docs/batch-size.md").read_text()
        command, shown = page.split("```\n$ lockstep batch pollux_cifar10 ")[1].split("\n", 1)
        shown = shown.split("```")[0]
        printed = batch(*command.split()).stdout
        self.assertIn(shown.split(), [printed.split()[:len(shown.split())]])

    def test_bad_input_is_refused(self):
        for arguments, words in (
                (("--accuracy", "94"), "is not a share"),
                (("--accuracy", "0.99"), "no batch size reaches"),
                (("--devices", "3000"), "no step was timed on 3000 devices"),
                (("--devices", "two"), "is not a whole number from 1 on"),
                (("--link", "nvswitch-h200"), "published traces have their own"),
                (("--crossing", "guess"), "is not a way to read a curve"),
                (("--table", "chairs", "--csv"), "is not a table here"),
                (("--classes", "1"), "labels carry no information"),
                (("--delta", "2"), "is not a share below 1")):
            with self.subTest(arguments=arguments):
                done = batch(*arguments)
                self.assertIn(done.returncode, (2, 3))
                self.assertEqual(done.stdout, "")
                self.assertIn(words, done.stderr)

    def test_a_study_of_one_device_is_continued_on_more(self):
        asked = (STUDY, "--link", "nvswitch-h200+ib-hdr-8x")
        done = lockstep("batch", *asked, "--devices", "1,2,4,...,64", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        every = json.loads(done.stdout)["devices"]
        rows = [r for r in every if 'lr_rule="linear" optim.warmup_epochs=1.0' in r["arm"]]
        self.assertEqual([r["ranks"] for r in rows], [1, 2, 4, 8, 16, 32, 64])
        self.assertEqual([r["origin"] for r in rows[:2]], ["by measured steps", "predicted"])
        for before, row in zip(rows, rows[1:]):
            self.assertGreater(row["global_batch"], before["global_batch"])
            self.assertGreater(row["goodput_per_s"], before["goodput_per_s"])
        text = lockstep("batch", *asked)
        self.assertIn("on more devices, predicted", text.stdout)
        table = lockstep("batch", *asked, "--csv", "--table", "devices").stdout
        self.assertEqual(len(table.splitlines()), 1 + len(every))

    def test_an_arm_with_one_batch_is_left_out_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for run in (STUDY / "runs").iterdir():
                if "-linear-1-1.0-" in run.name or "-1024-square_root-1-1.0-lamb-" in run.name:
                    shutil.copytree(run, pathlib.Path(folder) / run.name)
            text = lockstep("batch", folder).stderr
        self.assertRegex(text, r"left out, nothing to choose from: batch 1024 alone on 1 "
                               r'device\(s\), optim.kind="lamb"')

    def test_an_arm_that_misses_the_target_is_left_out_by_name(self):
        done = lockstep("batch", STUDY, "--accuracy", "0.89", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r'left out, 1 device\(s\), optim.kind="lars".*: no batch size reaches 1\.7\d+ nats')
        arms = {row["arm"] for row in json.loads(done.stdout)["rows"]}
        self.assertTrue(any("lamb" in arm for arm in arms))
        self.assertFalse(any("lars" in arm for arm in arms))
        never = lockstep("batch", STUDY, "--accuracy", "0.99")
        self.assertEqual((never.returncode, never.stdout), (3, ""))
        self.assertIn("no batch size reaches", never.stderr)

    def test_nets_that_learnt_nothing_choose_no_batch(self):
        done = lockstep("batch", NOTHING_LEARNT)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn("no batch size learnt anything: the best ends with 0.0000 nats", done.stderr)
        text = lockstep("report", NOTHING_LEARNT).stdout
        self.assertNotRegex(text, r"\bnan\b|by information a second")
        self.assertIn("no batch size learnt anything", text)

    def test_devices_without_a_link_cannot_be_predicted(self):
        done = lockstep("batch", STUDY, "--devices", "1,2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--link", done.stderr)
        done = lockstep("batch", STUDY, "--link", "nvswitch-h200", "--devices", "1,64")
        self.assertEqual(done.returncode, 2)
        self.assertIn("joins 8 ranks, not 64", done.stderr)

    def test_the_report_of_a_study_answers_which_batch(self):
        done = lockstep("report", STUDY)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("Which batch", "by information a second", "`lockstep batch", "lr_rule=linear",
                      "batch=32, lr_rule=none"):
            self.assertIn(words, done.stdout)
        self.assertNotIn("01-32-none-1-0.0-sgd", done.stdout)
        batch_part = json.loads(lockstep("report", STUDY, "--json").stdout)["batch"]
        # Its recipe names a cluster of eight.
        self.assertEqual([r["ranks"] for r in batch_part["devices"]][:4], [1, 2, 4, 8])

    def test_an_empty_folder_is_not_a_study(self):
        with tempfile.TemporaryDirectory() as empty:
            done = lockstep("batch", empty)
            self.assertEqual(done.returncode, 2)
            self.assertIn("holds no run", done.stderr)
        self.assertEqual(lockstep("batch", pathlib.Path("no/such/folder")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
