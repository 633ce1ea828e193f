# SPDX-License-Identifier: Apache-2.0
"""lockstep advise: one sentence first, then evidence; wrong input is exit 2."""
import json
import pathlib
import tempfile
import unittest

from made_runs import made_run
from program import lockstep


class Advise(unittest.TestCase):
    def test_one_sentence_then_the_evidence(self):
        out = lockstep("advise", "linear", "--hardware", "4x1080ti", "--batch", 10, "--samples", 2000, "--epochs", 20)
        self.assertEqual(out.returncode, 0, out.stderr)
        first = out.stdout.splitlines()[0]
        self.assertTrue(first.startswith("Train linear on one GTX 1080 Ti"), first)
        self.assertTrue(first.endswith("predicted."), first)
        self.assertIn("- remedy on 4 devices, local_sgd_8", out.stdout)
        self.assertIn("- noise scale unknown", out.stdout)

    def test_rows_begin_with_the_choice(self):
        out = lockstep("advise", "resnet50", "--hardware", "dgx-a100", "--batch", 256, "--price", 2, "--json")
        rows = json.loads(out.stdout)["rows"]
        self.assertEqual(rows[0]["what"], "choice")
        self.assertEqual(rows[0]["ranks"], 8)
        self.assertAlmostEqual(rows[0]["money"], 2 * rows[0]["device_hours"])
        candidates = [row for row in rows if row["what"] == "candidate"]
        self.assertEqual(candidates, sorted(candidates, key=lambda row: row["time_s"]))
        self.assertEqual({row["global_batch"] for row in candidates}, {256})

    def test_a_noise_scale_lets_larger_batches_compete(self):
        out = lockstep("advise", "resnet18", "--hardware", "dgx-1v", "--noise-scale", 5000, "--json")
        batches = {row["global_batch"] for row in json.loads(out.stdout)["rows"]}
        self.assertGreater(len(batches), 5)

    def test_a_deadline_is_read_with_its_unit(self):
        rows = []
        for deadline in ("7200", "120min", "2h"):
            out = lockstep("advise", "resnet50", "--hardware", "dgx-a100", "--batch", 256, "--deadline", deadline,
                           "--json")
            rows.append(json.loads(out.stdout)["rows"][0])
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])

    def test_time_to_an_accuracy_is_measured_samples_times_a_predicted_step(self):
        with tempfile.TemporaryDirectory() as folder:
            # Validation accuracy 0.92 - 0.8 exp(-e/2) - 0.0032: 0.8 is first seen in the fifth epoch of 2000 samples.
            run = made_run(pathlib.Path(folder) / "run", model="linear", per_rank=32, epochs=12)
            asked = ("advise", "linear", "--hardware", "4x1080ti", "--target", 0.8, "--from", run, "--ranks", 1)
            row = json.loads(lockstep(*asked, "--json").stdout)["rows"][0]
            self.assertEqual(row["global_batch"], 32)
            self.assertEqual(row["lr"], 0.01)
            self.assertAlmostEqual(row["time_s"], 10000 / 32 * row["step_s"], places=9)
            text = lockstep(*asked).stdout
            self.assertIn("accuracy 0.8 after 10,000 samples takes", text.splitlines()[0])
            self.assertIn("nothing was repeated", text)
            other = lockstep(*asked, "--batch", 64)
            self.assertEqual(other.returncode, 2)
            self.assertIn("at batch 64 is not known", other.stderr)
            self.assertEqual(lockstep(*asked, "--batch", 64, "--noise-scale", 500).returncode, 0)

    def test_wrong_input_is_exit_2(self):
        on = ("resnet18", "--hardware", "dgx-1v")
        for arguments, words in (
                ((*on, "--budget", 5), "needs a price"),
                ((*on, "--noise-scale", -1), "--noise-scale"),
                ((*on, "--deadline", "nan"), "--deadline"),
                ((*on, "--deadline", "2 weeks"), "is no time"),
                ((*on, "--target", 0.9), "--from RUN|STUDY"),
                ((*on, "--target", 90, "--from", "x"), "between 0 and 1"),
                ((*on, "--target", 0.9, "--from", "nowhere"), "is not a folder"),
                ((*on, "--from", "x"), "is evidence for a --target"),
                ((*on, "--target", 0.9, "--from", "x", "--epochs", 3), "leave out --epochs"),
                ((*on, "--batch", 9999999), "fits into the devices' memory"),
                (("resnet19", "--hardware", "dgx-1v"), "did you mean 'resnet18'?"),
                (("resnet18", "--hardware", "dgx-1w"), "did you mean 'dgx-1'?"),
                (("resnet18",), "on which device?")):
            with self.subTest(arguments=arguments):
                out = lockstep("advise", *arguments)
                self.assertEqual(out.returncode, 2, out.stdout + out.stderr)
                self.assertIn(words, out.stderr)


if __name__ == "__main__":
    unittest.main()
