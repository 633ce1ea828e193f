# SPDX-License-Identifier: Apache-2.0
"""lockstep predict: answers, formats, speed, and what it says to wrong input."""
import csv
import io
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from program import lockstep

COLUMNS = ("model,device,link,strategy,scaling,ranks,batch,global_batch,accumulate,step_s,lo90_s,hi90_s,epoch_s,"
           "samples_per_s,speedup,speedup_lo90,speedup_hi90,efficiency,compute_s,exposed_comm_s,idle_s,input_wait_s,"
           "comm_s,memory_bytes,largest_batch,verdict,cause,flips")
A100 = ("--device", "A100", "--link", "nvswitch-a100")


def rows(*arguments):
    out = lockstep("predict", *arguments, "--json")
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)["rows"]


class Predict(unittest.TestCase):
    def test_a_model_on_one_to_eight_devices(self):
        got = rows("resnet50", *A100, "--ranks", "1,2,...,8", "--batch", "64")
        self.assertEqual([row["ranks"] for row in got], [1, 2, 4, 8])
        self.assertEqual(got[0]["speedup"], 1)
        self.assertEqual({row["verdict"] for row in got}, {"scales"})
        for row in got:
            self.assertLessEqual(row["lo90_s"], row["step_s"])
            self.assertLessEqual(row["step_s"], row["hi90_s"])
            parts = row["compute_s"] + row["exposed_comm_s"] + row["idle_s"] + row["input_wait_s"]
            self.assertAlmostEqual(parts, row["step_s"])

    def test_csv_has_the_promised_columns(self):
        out = lockstep("predict", "linear", *A100, "--ranks", "1,2", "--csv")
        self.assertEqual(out.stdout.splitlines()[0], COLUMNS)
        self.assertIn("predicted, not measured", out.stderr)

    def test_a_choke_says_what_would_flip_it(self):
        out = lockstep("predict", "linear", "--hardware", "4x1080ti", "--ranks", "1,2", "--batch", "64")
        self.assertIn("chokes (communication); fades", out.stdout)
        self.assertIn("with a link of", out.stdout)

    def test_a_profile_answers_without_a_device(self):
        layer = {"name": "a", "type": "Linear", "forward_s": [0.001, 0.004], "backward_s": [0.002, 0.008]}
        profile = {"kind": "lockstep profile", "schema": 1, "model": "mine", "device": "RTX 3090", "precision": "fp32",
                   "batches": [8, 32], "step_s": [0.004, 0.013], "optimizer_s": 0.0005, "gradient_order": [0],
                   "params": [{"name": "a.weight", "numel": 1000000, "layer": 0}], "layers": [layer]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile.json"
            path.write_text(json.dumps(profile))
            got = rows(path, "--link", "pcie4-host", "--ranks", "1,4", "--batch", "32")
            self.assertAlmostEqual(got[0]["step_s"], 0.013)
            self.assertEqual(got[0]["device"], "RTX 3090")
            path.write_text(path.read_text()[:100])
            self.assertEqual(lockstep("predict", path).returncode, 2)

    def test_ten_thousand_points_and_sixteen_thousand_ranks(self):
        out = lockstep("predict", "resnet50", "--device", "A100,H100", "--link", "nvswitch-a100+ib-hdr-8x,nvlink2+ib-edr",
                       "--ranks", "1,2,4,...,16384", "--batch", "1,2,3,...,168", "--csv")
        self.assertEqual(out.returncode, 0, out.stderr)
        table = list(csv.DictReader(io.StringIO(out.stdout)))
        self.assertEqual(len(table), 2 * 2 * 15 * 168)
        self.assertEqual({row["ranks"] for row in table if int(row["ranks"]) > 8192}, {"16384"})

    def test_wrong_input_is_exit_2_with_a_hint(self):
        for arguments, words in (
                (("resnet5", *A100), "did you mean 'resnet50'?"),
                (("resnet50", "--device", "RTX 3091", "--link", "nvswitch-a100", "--ranks", "2"), "did you mean 'RTX 3090'?"),
                (("resnet50", "--device", "A100", "--link", "nvswich-a100"), "did you mean 'nvswitch-a100'?"),
                (("resnet50",), "on which device?"),
                (("resnet50", "--device", "A100", "--ranks", "2"), "name a link"),
                (("resnet50", *A100, "--ranks", "16"), "add a link between nodes"),
                (("resnet50", *A100, "--ranks", "0"), "'0' is not a whole number from 1 on"),
                (("resnet50", *A100, "--ranks", "2,"), "empty entry"),
                (("resnet50", *A100, "--ranks", "1,2,...,7"), "does not reach 7"),
                (("resnet50", *A100, "--batch", "-4"), "'-4' is not a whole number"),
                (("resnet50", *A100, "--batch", "1e3"), "'1e3' is not a whole number"),
                (("resnet50", *A100, "--strategy", "dpp"), "did you mean 'ddp'?"),
                (("resnet50", *A100, "--scaling", "sideways"), "weak"),
                (("resnet50", *A100, "--wire", "int3"), "fp32, bf16 or fp16"),
                (("resnet50", *A100, "--software", "caffee"), "lockstep, lockstep-graph, pytorch or graph"),
                (("resnet50", *A100, "--compression", "7"), "compression"),
                (("resnet50", *A100, "--accumulate", "-1"), "accumulate"),
                (("resnet50", *A100, "--accumulate", "99999999999"), "accumulate"),
                (("resnet50", *A100, "--samples", "-5"), "samples"),
                (("resnet50", *A100, "--per-node", "0"), "per-node"),
                (("resnet50", *A100, "--input-rate", "nan"), "input rate"),
                (("nowhere.toml", *A100), "nowhere.toml"),
                (("nowhere.json", *A100), "nowhere.json"),
                (("resnet50", "--hardware", "dgx-a100", "--link", "pcie"), "brings its own"),
                (("", *A100), "is no recipe, profile or model")):
            with self.subTest(arguments=arguments):
                out = lockstep("predict", *arguments)
                self.assertEqual(out.returncode, 2, out.stdout + out.stderr)
                self.assertIn(words, out.stderr)
                self.assertEqual(out.stdout, "")

    def test_a_figure_has_a_curve_for_each_link_and_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            figure = pathlib.Path(folder) / "speedup.svg"
            out = lockstep("predict", "resnet50", "--device", "A100", "--link", "nvswitch-a100,pcie4-host",
                           "--ranks", "1,2,4,8", "--batch", "16,64", "--figure", figure)
            self.assertEqual(out.returncode, 0, out.stderr)
            drawn = xml.etree.ElementTree.fromstring(figure.read_text())
            lines = [e for e in drawn.iter() if e.tag.endswith("polyline")]
            self.assertEqual([len(e.get("points").split()) for e in lines], [4] * 4)
            self.assertIn("predicted", figure.read_text())


if __name__ == "__main__":
    unittest.main()
