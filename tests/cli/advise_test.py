# SPDX-License-Identifier: Apache-2.0
"""lockstep advise: one sentence first, then evidence; wrong input is exit 2."""
import json
import unittest

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

    def test_wrong_input_is_exit_2(self):
        on = ("resnet18", "--hardware", "dgx-1v")
        for arguments, words in (
                ((*on, "--budget", 5), "needs a price"),
                ((*on, "--noise-scale", -1), "--noise-scale"),
                ((*on, "--deadline", "nan"), "--deadline"),
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
