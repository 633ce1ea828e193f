# SPDX-License-Identifier: Apache-2.0
"""`lockstep summary`: the tables people compare with papers, and what programs read.

golden/summary_linear.txt and summary_conv1d.txt hold, row by row, Figures 1 and 2 of E. Stevens,
"The Impact of Model Architecture and Batch Size on Data Parallel multi-GPU Training".
"""
import csv
import io
import json
import pathlib
import unittest

from program import lockstep

GOLDEN = pathlib.Path(__file__).parent / "golden"

FIGURE_1 = """
Linear-1 [-1, 1, 1000] 12,001,000
ReLU-2 [-1, 1, 1000] 0
Linear-3 [-1, 1, 100] 100,100
ReLU-4 [-1, 1, 100] 0
Linear-5 [-1, 1, 10] 1,010
Sigmoid-6 [-1, 1, 10] 0
Linear-7 [-1, 1, 10] 110
Total params: 12,102,220
Trainable params: 12,102,220
Non-trainable params: 0
Input size (MB): 0.05
Forward/backward pass size (MB): 0.02
Params size (MB): 46.17
Estimated Total Size (MB): 46.23
"""

FIGURE_2 = """
Conv1d-1 [-1, 50, 12001] 10,050
ReLU-2 [-1, 50, 12001] 0
MaxPool1d-3 [-1, 50, 3000] 0
Conv1d-4 [-1, 30, 3001] 150,030
ReLU-5 [-1, 30, 3001] 0
MaxPool1d-6 [-1, 30, 1000] 0
Conv1d-7 [-1, 10, 1001] 15,010
ReLU-8 [-1, 10, 1001] 0
MaxPool1d-9 [-1, 10, 200] 0
Linear-10 [-1, 100] 200,100
Sigmoid-11 [-1, 100] 0
Linear-12 [-1, 10] 1,010
Total params: 376,200
Trainable params: 376,200
Non-trainable params: 0
Input size (MB): 0.05
Forward/backward pass size (MB): 12.07
Params size (MB): 1.44
Estimated Total Size (MB): 13.55
"""


def words(text):
    return [line.split() for line in text.strip().splitlines()]


def figure_rows(text):
    """The rows and sizes of a printed table, without rulers, heading and what follows."""
    table = text[:text.index("MB is 2^20")]
    return [row for row in words(table) if not set(row[0]) <= set("-=") and row[0] != "Layer"]


class Summary(unittest.TestCase):
    def ask(self, *arguments, code=0):
        done = lockstep("summary", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_linear_is_figure_1_of_the_paper(self):
        self.assertEqual(figure_rows(self.ask("linear").stdout), words(FIGURE_1))

    def test_conv1d_is_figure_2_of_the_paper(self):
        self.assertEqual(figure_rows(self.ask("conv1d").stdout), words(FIGURE_2))

    def test_the_text_is_the_golden_one(self):
        for name, arguments in {
            "summary": [],
            "summary_linear": ["linear", "--batch", "10", "--optim", "adam"],
            "summary_conv1d": ["conv1d", "--batch", "10", "--precision", "bf16"],
        }.items():
            with self.subTest(name=name):
                golden = (GOLDEN / f"{name}.txt").read_text()
                self.assertEqual(self.ask(*arguments).stdout, golden)

    def test_every_model_is_listed_with_its_count(self):
        rows = json.loads(self.ask("--json").stdout)["rows"]
        counts = [(row["model"], row["params"]) for row in rows]
        self.assertEqual(counts, [
            ("linear", 12_102_220), ("conv1d", 376_200), ("variable", 1_000_000),
            ("resnet18", 11_173_962), ("resnet18_224", 11_689_512), ("resnet34", 21_797_672),
            ("resnet50", 25_557_032), ("mobilenet_v2", 3_504_872), ("vit_tiny", 5_717_416),
            ("vit_b_16", 86_567_656), ("gpt", 858_880), ("quick", 1_971_640),
            ("gpt", 124_439_808)])
        for row in rows:
            self.assertEqual(row["param_bytes"], 4 * row["params"])
            flops = row["forward_flops"] + row["backward_flops"]
            self.assertAlmostEqual(row["param_bytes_per_flop"] * flops / row["param_bytes"], 1)

    def test_json_and_csv_have_the_same_fields_and_add_up(self):
        rows = json.loads(self.ask("resnet50", "--json").stdout)["rows"]
        table = list(csv.DictReader(io.StringIO(self.ask("resnet50", "--csv").stdout)))
        self.assertEqual([list(row) for row in rows], [list(row) for row in table])
        self.assertEqual(sum(row["params"] for row in rows), 25_557_032)
        self.assertEqual(sum(int(row["params"]) for row in table), 25_557_032)
        total = json.loads(self.ask("resnet50", "--total", "--json").stdout)["rows"]
        self.assertEqual([row["params"] for row in total], [25_557_032])
        self.assertEqual(total[0]["forward_flops"], sum(row["forward_flops"] for row in rows))

    def test_settings_reach_the_model(self):
        def total(*arguments):
            return json.loads(self.ask(*arguments, "--total", "--json").stdout)["rows"][0]
        self.assertEqual(total("mobilenet_v2", "--set", "model.classes=5")["params"], 2_230_277)
        small = total("vit_tiny", "--set", "model.image_px=32", "--set", "model.patch_px=4")
        self.assertEqual(small["input"], "3x32x32")
        variable = total("variable", "--set", "model.variable_params=1234567",
                         "--set", "model.variable_flops=50000000")
        self.assertEqual(variable["params"], 1_234_567)
        self.assertAlmostEqual(variable["forward_flops"], 50e6, delta=1000)
        one, ten = (total("resnet18", "--batch", n)["memory_bytes"] for n in (1, 10))
        self.assertEqual(ten - one, 9 * (total("resnet18")["activation_bytes"] + 4 * 3 * 32 * 32))

    def test_what_cannot_be_is_refused_in_one_line(self):
        for arguments, text in [
            (["resnet19"], "resnet18"),
            (["linear", "--batch", "0"], "--batch"),
            (["linear", "--optim", "adamm"], "adam"),
            (["linear", "--set", "model.image_px=3"], "takes no images"),
            (["vit_tiny", "--set", "model.image_px=50"], "48 or 64"),
            (["variable", "--set", "model.variable_params=1000", "--set",
              "model.variable_flops=1000000000"], "at most"),
            (["--set", "model.classes=3"], "needs a MODEL"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(text, self.ask(*arguments, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
