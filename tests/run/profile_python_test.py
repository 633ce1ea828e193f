# SPDX-License-Identifier: Apache-2.0
"""tools/lockstep_profile.py and lockstep profile measure the same model alike.

Needs a Python with the whole of torch and torchvision, which training does
not: LOCKSTEP_TORCH_PYTHON, or .venv-bench beside the sources (`make bench` makes
it). Without one ctest counts this as skipped and the output says why."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from profile_test import RESNET
from running import Folder, lockstep

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("LOCKSTEP_TORCH_PYTHON", str(ROOT / ".venv-bench/bin/python"))
SKIPPED = 77  # SKIP_RETURN_CODE
MODEL = """
import torch, torchvision
def make():
    torch.set_num_threads(1)
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model
"""


def by_module(profile, batch):
    """Seconds of each module with parameters; layers without any join the one before."""
    owners = {q["layer"]: q["name"].rpartition(".")[0] for q in profile["params"]}
    out, name = {}, None
    for i, layer in enumerate(profile["layers"]):
        name = owners.get(i, name)
        out[name] = out.get(name, 0) + layer["forward_s"][batch] + layer["backward_s"][batch]
    return out


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0] * len(values)
    for place, i in enumerate(order):
        out[i] = place
    return out


def rank_correlation(a, b):
    n = len(a)
    d2 = sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b)))
    return 1 - 6 * d2 / (n * (n * n - 1))


class ProfilePython(unittest.TestCase):
    def test_both_measure_the_same_model_alike(self):
        with Folder() as folder:
            (folder.path / "model.py").write_text(MODEL)
            (folder.path / "resnet18.toml").write_text(RESNET)
            subprocess.run([PYTHON, ROOT / "tools/lockstep_profile.py", "model.py:make", "--shape", "3,32,32",
                            "--batches", "1,4", "--steps", "5", "--device", "cpu", "--out", "theirs.json"],
                           cwd=folder.path, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            done = lockstep("profile", folder.path / "resnet18.toml", "--batches", "1,4", "--steps", "5",
                            "--out", folder.path / "ours.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            theirs = json.loads((folder.path / "theirs.json").read_text())
            self.assertGreater(min(theirs["loss"]["backward_s"]), 0)
            ours = json.loads((folder.path / "ours.json").read_text())
            asked = lockstep("predict", folder.path / "theirs.json", "--hardware", "4x3090", "--ranks", "2")
            self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual([(q["name"], q["numel"], q["rows"]) for q in ours["params"]],
                         [(q["name"], q["numel"], q["rows"]) for q in theirs["params"]])
        for field in ("buffer_bytes", "input_bytes", "output_bytes", "optimizer_bytes"):
            # PyTorch's batch counters are int64.
            self.assertAlmostEqual(ours[field] / theirs[field], 1, delta=0.01, msg=field)
        kept = [sum(l["activation_bytes"] for l in p["layers"]) for p in (ours, theirs)]
        self.assertAlmostEqual(kept[0] / kept[1], 1, delta=0.15)
        # The same kernels take the same time, as far as a shared machine lets them.
        self.assertGreater(ours["step_s"][1] / theirs["step_s"][1], 1 / 3)
        self.assertLess(ours["step_s"][1] / theirs["step_s"][1], 3)
        a, b = by_module(ours, 1), by_module(theirs, 1)
        self.assertEqual(set(a), set(b))
        self.assertGreater(rank_correlation([a[k] for k in a], [b[k] for k in a]), 0.7)
        # Gradients come in the same order but for branches that run side by side.
        place = {i: n for n, i in enumerate(theirs["gradient_order"])}
        moved = [abs(n - place[i]) for n, i in enumerate(ours["gradient_order"])]
        self.assertLess(sum(moved) / len(moved), 2)


if __name__ == "__main__":
    if not os.path.exists(PYTHON):
        print(f"not run: no Python with torch at {PYTHON}; LOCKSTEP_TORCH_PYTHON names one")
        sys.exit(SKIPPED)
    unittest.main()
