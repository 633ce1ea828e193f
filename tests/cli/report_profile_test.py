# SPDX-License-Identifier: Apache-2.0
"""lockstep report PROFILE: measured layers against their floor, and what it says when it cannot."""
import json
import pathlib
import tempfile
import unittest

from program import ROOT, lockstep

RESULTS = ROOT / "results/emulated_1xh200_2026-11"
RESNET, GPT = RESULTS / "resnet18_profile.json", RESULTS / "gpt_profile.json"


class ReportProfile(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.at = pathlib.Path(self.dir.name)

    def report(self, *arguments, code=0):
        done = lockstep("report", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def changed(self, **fields):
        out = self.at / "profile.json"
        out.write_text(json.dumps({**json.loads(RESNET.read_text()), **fields}))
        return out

    def test_a_built_in_model_has_flops_bytes_and_a_sentence(self):
        document = json.loads(self.report(RESNET, "--json").stdout)
        rows = {r["layer"]: r for r in document["rows"]}
        # 3x3 over 64 channels of 32x32: 2 x 36,864 x 1,024 FLOPs, thrice, 128 samples, 989 TFLOP/s.
        conv = rows["layer1.0.conv2"]
        self.assertEqual(conv["flops"], 3 * 128 * 2 * 36864 * 1024)
        self.assertAlmostEqual(conv["floor_s"] / (conv["flops"] / 989e12), 1, 6)
        self.assertEqual(conv["bound"], "compute")
        # BatchNorm and ReLU in one: two tensors forward, three backward; 4.8 TB/s.
        norm = rows["layer1.0.bn1"]
        self.assertEqual((norm["flops"], norm["bound"], norm["flops_per_s"]), (0, "memory", None))
        self.assertAlmostEqual(norm["floor_s"] / (5 * 128 * 2 * 64 * 1024 / 4.8e12), 1, 3)
        parts = [r for name, r in rows.items() if name != "step"]
        self.assertAlmostEqual(sum(r["step_s"] for r in parts) / rows["step"]["step_s"], 1, 9)
        self.assertAlmostEqual(sum(r["floor_s"] for r in parts) / rows["step"]["floor_s"], 1, 9)
        far = max(parts, key=lambda r: r["step_s"] - r["floor_s"])
        said = document["answers"][0]["sentence"]
        self.assertRegex(said, rf"furthest from it(, by layer times scaled by 0\.\d\d to the step)?: {far['layer']} \(")
        self.assertIn(f"is {100 * rows['step']['share']:.0f} % of a step", said)
        text = self.report(RESNET).stdout
        self.assertIn(said, text)
        self.assertIn("scaled to the measured step", text)
        self.assertIn(said, self.report(RESNET, "--markdown").stdout)
        self.assertEqual(len(self.report(RESNET, "--csv").stdout.splitlines()), 1 + len(rows))

    def test_flops_of_other_sizes_are_unknown_without_the_recipe(self):
        blind = json.loads(self.report(GPT, "--json").stdout)
        self.assertEqual({r["flops"] for r in blind["rows"]}, {None})
        self.assertIn("FLOPs are unknown", " ".join(blind["notes"]))
        self.assertIn("--recipe", " ".join(blind["notes"]))
        told = json.loads(self.report(GPT, "--recipe", RESULTS / "gpt.toml", "--json").stdout)
        self.assertGreater({r["layer"]: r for r in told["rows"]}["step"]["flops"], 1e12)
        self.assertNotIn("FLOPs are unknown", " ".join(told["notes"]))
        done = self.report(GPT, "--recipe", RESULTS / "resnet18.toml", code=2)
        self.assertIn("is not the one that was profiled", done.stderr)

    def test_somebodys_own_model_has_a_floor_of_bytes(self):
        document = json.loads(self.report(self.changed(model="mine"), "--json").stdout)
        self.assertNotIn("--recipe", " ".join(document["notes"]))
        self.assertEqual({r["bound"] for r in document["rows"]}, {"memory"})

    def test_an_unknown_device_is_an_error_unless_its_peaks_are_given(self):
        profile = self.changed(device="Abacus 3")
        done = self.report(profile, code=2)
        self.assertIn("'Abacus 3'", done.stderr)
        self.assertIn("lockstep probe", done.stderr)
        measured = self.at / "probed.toml"
        measured.write_text('schema = 1\nname = "x"\n[device]\nname = "Abacus 3"\nlike = "H200"\n'
                            'half_flops = 783e12\nmemory_bytes_per_s = 4.27e12\nsource = "lockstep probe"\n')
        document = json.loads(self.report(profile, "--hardware", measured, "--json").stdout)
        self.assertEqual((document["peak_flops"], document["memory_bytes_per_s"]), (783e12, 4.27e12))
        self.assertIn("(lockstep probe)", document["notes"][0])
        self.report(profile, "--device", "A100")
        self.report(profile, "--device", "A100", "--hardware", measured, code=2)

    def test_options_of_a_profile_with_runs_and_two_profiles_are_errors(self):
        self.report(self.at, "--device", "H200", code=2)
        self.report(RESNET, GPT, code=2)
        self.report(self.at / "missing.json", code=2)


if __name__ == "__main__":
    unittest.main()
