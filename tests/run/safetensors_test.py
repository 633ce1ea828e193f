# SPDX-License-Identifier: Apache-2.0
"""Weights move both ways between us and the safetensors package."""
import unittest

import numpy
from safetensors.numpy import load_file, save_file

from running import Folder, lockstep, losses, rows


class Safetensors(unittest.TestCase):
    def test_the_package_reads_our_checkpoint_and_we_read_its_file(self):
        with Folder() as folder:
            run = folder.path / "run"
            lockstep("train", folder.recipe, "--out", run, "--set",
                     "train.epochs=1")
            last = run / "checkpoint" / "last"
            weights = load_file(last / "model.safetensors")
            self.assertGreater(len(weights), 1)
            self.assertEqual(sum(w.size for w in weights.values()), 20000)
            self.assertTrue(all(w.dtype == numpy.float32
                                for w in weights.values()))
            load_file(last / "state.safetensors")

            theirs = folder.path / "theirs.safetensors"
            save_file(weights, theirs)
            again = folder.path / "again"
            done = lockstep("train", folder.recipe, "--out", again, "--set",
                            f"model.weights={theirs}", "--set", "optim.lr=0",
                            "--set", "train.epochs=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            # Nothing was learnt at rate 0: what was read is what is written,
            # and it predicts as well as the run it came from.
            back = load_file(again / "checkpoint" / "last" /
                             "model.safetensors")
            for name, values in weights.items():
                numpy.testing.assert_array_equal(values, back[name])
            self.assertEqual(rows(run, "epochs.csv")[0]["val_loss"],
                             rows(again, "epochs.csv")[0]["val_loss"])


if __name__ == "__main__":
    unittest.main()
