# SPDX-License-Identifier: Apache-2.0
"""lockstep profile and lockstep probe: what they write is what predict reads."""
import json
import unittest

from running import Folder, lockstep

# Convolutions, normalisation, additions and a fully connected layer.
RESNET = """
[model]
kind = "resnet18"
[data]
kind = "synthetic"
synthetic_samples = 16
[batch]
per_rank = 4
[train]
threads = 1
[optim]
kind = "sgd"
momentum = 0.9
lr = 0.1
"""
GPT = """
[model]
kind = "gpt"
vocab = 8192
context = 32
layers = 1
heads = 2
width = 32
[data]
kind = "synthetic"
synthetic_samples = 16
[batch]
per_rank = 4
[train]
threads = 1
[optim]
kind = "adamw"
lr = 0.001
"""


def total(profile, batch):
    return sum(l["forward_s"][batch] + l["backward_s"][batch] for l in profile["layers"])


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.recipe = cls.folder.path / "resnet18.toml"
        cls.recipe.write_text(RESNET)
        cls.out = cls.folder.path / "profile.json"
        cls.done = lockstep("profile", cls.recipe, "--batches", "1,4", "--steps", "5", "--out", cls.out)
        cls.profile = json.loads(cls.out.read_text()) if cls.done.returncode == 0 else {}

    def test_says_what_it_measured(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn("measured", self.done.stderr)
        self.assertIn("layer1.0.conv1", self.done.stdout)

    def test_every_parameter_belongs_to_the_layer_of_its_name(self):
        p = self.profile
        self.assertEqual(sum(q["numel"] for q in p["params"]), 11_173_962)
        for q in p["params"]:
            self.assertEqual(p["layers"][q["layer"]]["name"], q["name"].rpartition(".")[0])

    def test_gradients_come_from_the_last_layer_to_the_first(self):
        p = self.profile
        names = [p["params"][i]["name"] for i in p["gradient_order"]]
        self.assertEqual(sorted(names), sorted(q["name"] for q in p["params"]))
        self.assertTrue(names[0].startswith("fc."), names[0])
        self.assertIn(names[-1], ("conv1.weight", "bn1.weight", "bn1.bias"))

    def test_layers_take_time_and_add_up_to_a_step(self):
        p = self.profile
        for layer in p["layers"]:
            self.assertGreater(min(layer["forward_s"] + layer["backward_s"]), 0, layer["name"])
        for batch in (0, 1):
            # Timing costs time, and another program may run beside us.
            self.assertLess(total(p, batch), 3 * p["step_s"][batch])
            self.assertGreater(total(p, batch), 0.3 * p["step_s"][batch])
        self.assertGreater(p["step_s"][1], p["step_s"][0])
        self.assertGreater(p["input_samples_per_s"], 0)
        self.assertEqual(p["optimizer_bytes"], 4 * 11_173_962)

    def test_the_loss_has_its_own_time(self):
        loss = self.profile["loss"]
        self.assertGreater(min(loss["forward_s"] + loss["backward_s"]), 0)
        self.assertLess(loss["backward_s"][1], 0.2 * self.profile["step_s"][1])

    def test_a_head_that_shares_the_embeddings_weight_goes_back_first(self):
        recipe, out = self.folder.path / "gpt.toml", self.folder.path / "gpt.json"
        recipe.write_text(GPT)
        done = lockstep("profile", recipe, "--batches", "2,4", "--steps", "5", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        p = json.loads(out.read_text())
        embedding = next(l for l in p["layers"] if l["name"] == "transformer.wte")
        # 8,192 words against a width of 32: the head is nearly all of the model.
        self.assertGreater(p["loss"]["forward_s"][1], embedding["forward_s"][1])
        self.assertGreater(p["loss"]["backward_s"][1], embedding["backward_s"][1])
        self.assertGreater(p["loss"]["backward_s"][1], 0.3 * p["step_s"][1])

    def test_convolutions_of_one_stage_take_more_than_the_last_layer(self):
        layers = {l["name"]: l for l in self.profile["layers"]}
        fc = layers["fc"]["forward_s"][1] + layers["fc"]["backward_s"][1]
        for name in ("layer1.0.conv1", "layer2.1.conv2", "layer4.1.conv1"):
            conv = layers[name]["forward_s"][1] + layers[name]["backward_s"][1]
            self.assertGreater(conv, fc, name)

    def test_predict_reads_it_with_what_probe_writes(self):
        machine = self.folder.path / "machine.json"
        done = lockstep("probe", "--ranks", "2", "--threads", "1", "--out", machine, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = {r["figure"]: r for r in json.loads(done.stdout)["rows"]}
        self.assertGreater(figures["fp32_flops"]["measured"], 1e9)
        self.assertGreater(figures["memory_bytes_per_s"]["measured"], 1e8)
        self.assertEqual(figures["fp32_flops"]["verdict"], "nothing to compare with")
        self.assertTrue(any("all_reduce on 2 ranks" in f for f in figures))
        asked = lockstep("predict", self.out, "--hardware", machine, "--ranks", "1,2", "--batch", "4", "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        rows = json.loads(asked.stdout)["rows"]
        self.assertEqual([r["ranks"] for r in rows], [1, 2])
        # A busy machine sends slowly while it is probed.
        self.assertGreater(rows[1]["speedup"], 0.1)
        self.assertLess(rows[1]["speedup"], 2.05)

    def test_one_batch_size_is_not_enough(self):
        done = lockstep("profile", self.recipe, "--batches", "4", "--out", self.folder.path / "x.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--batches", done.stderr)

    def test_an_unknown_link_preset_is_refused(self):
        done = lockstep("probe", "--link", "ethernet-11g")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ethernet-1", done.stderr)


if __name__ == "__main__":
    unittest.main()
