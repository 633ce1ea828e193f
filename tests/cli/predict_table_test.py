# SPDX-License-Identifier: Apache-2.0
"""lockstep predict --table and --calibrate: files in, files out, faults with their line."""
import csv
import pathlib
import tempfile
import unittest

from program import ROOT, lockstep

HEAD = ("source,model,params_millions,dataset_or_input,framework,precision,gpu,interconnect,gpus,nodes,"
        "batch_per_gpu,metric,value,value_at_1_gpu,speedup,efficiency,notes,quality,scaling,grad_accum,"
        "batch_at_1_gpu,comm,ic_class,group\n")
ROW = ("x,BERT-large SQuAD,335,SQuAD seq 384,PyTorch (DLE code),FP32,RTX 2080 Ti,\"PCIe3, no P2P\",4,1,2,"
       "sequences/s,10,6.3,1,1,n,A,weak,,2,apex DDP,pcie-no-p2p,g\n")
ADDED = ["predicted_value", "lo90", "hi90", "predicted_speedup", "verdict", "cause", "note"]
STEVENS = ROOT / "tests/predict/data/stevens_epoch_seconds.csv"


class PredictTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def predict(self, text, *more):
        table, out = self.folder / "in.csv", self.folder / "out.csv"
        table.write_text(text)
        done = lockstep("predict", *more, "--table", table, "--out", out)
        if not out.exists():
            return done, []
        with out.open() as file:
            return done, list(csv.DictReader(file))

    def test_a_table_comes_back_with_predictions(self):
        done, rows = self.predict(HEAD + ROW)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [n for n in HEAD.strip().split(",") if n not in ("value", "speedup", "efficiency")]
        self.assertEqual(list(rows[0]), names + ADDED)
        self.assertEqual(rows[0]["verdict"], "fades")
        self.assertEqual(rows[0]["cause"], "communication")
        self.assertIn("predicted", done.stderr)

    def test_a_missing_column_is_named_with_the_line(self):
        done, rows = self.predict("gpus,metric\n2,images/s\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn("value_at_1_gpu", done.stderr)
        self.assertIn("in.csv", done.stderr)
        self.assertEqual(rows, [])

    def test_wrong_separators_are_said_so(self):
        done, _ = self.predict("gpus;metric;value_at_1_gpu\n2;images/s;3\n")
        self.assertEqual(done.returncode, 2)

    def test_a_short_row_names_its_line(self):
        done, _ = self.predict("gpus,metric,value_at_1_gpu\n2,images/s,3\n2,images/s\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn(":3", done.stderr)

    def test_senseless_cells_are_noted_never_fatal(self):
        done, rows = self.predict("gpus,metric,value_at_1_gpu,batch_per_gpu\n"
                                  "2,images/s,nan,x\n-3,images/s,5,1\n1e99,images/s,5,1\n2.5,images/s,5,\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([bool(r["note"]) for r in rows], [True] * 4)
        self.assertEqual(rows[0]["predicted_value"], "")

    def test_out_is_needed_and_files_must_exist(self):
        self.assertEqual(lockstep("predict", "--table", STEVENS).returncode, 2)
        self.assertEqual(lockstep("predict", "--table", "nowhere.csv", "--out", "o.csv").returncode, 2)

    def test_a_hundred_thousand_rows(self):
        done, rows = self.predict(HEAD + ROW * 100000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(rows), 100000)

    def test_calibration_predicts_what_was_not_measured(self):
        done, rows = self.predict("model,gpus,batch\nlinear,3,100\nconv,4,600\n", "--calibrate", STEVENS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(rows[0]), ["model", "gpus", "batch", "predicted_value", "lo90", "hi90", "verdict", "cause"])
        self.assertAlmostEqual(float(rows[0]["predicted_value"]), 1.10, delta=0.03)
        self.assertEqual(rows[0]["verdict"], "chokes")
        self.assertEqual(rows[1]["verdict"], "scales")

    def test_calibration_names_a_wrong_line(self):
        done, _ = self.predict("model,gpus,batch\nlinear,0,100\n", "--calibrate", STEVENS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("in.csv:2", done.stderr)


if __name__ == "__main__":
    unittest.main()
