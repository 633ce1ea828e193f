# SPDX-License-Identifier: Apache-2.0
"""Steps before the clock starts, averages of the weights, views of a test image, sets on the device."""
import json
import unittest

from running import Folder, epoch_results, lockstep, losses, record, sets

# Full batches of 12 and a last one of 4; momentum to put back.
SGD = ["optim.kind=sgd", "optim.lr=0.05", "optim.momentum=0.9"]
# Small images that are cropped and mirrored, on a net with running statistics.
QUICK = ["model.kind=quick", "model.whiten=true", "data.kind=cifar10",
         "data.split=official", "data.flip=true", "data.flip_alternate=true",
         "data.crop_pad_px=2", "data.crop_fill=reflect", "train.epochs=2",
         "data.mean=0.5", "data.std=0.25",
         "train.eval_mirror=true", "train.eval_shift_px=1", *SGD]


class Rehearse(unittest.TestCase):
    def train(self, folder, name, *settings):
        run = folder.path / name
        done = lockstep("train", folder.recipe, "--out", run, *sets(*settings))
        self.assertEqual(done.returncode, 0, done.stderr)
        return run, done

    def pictures(self, folder):
        data = folder.path / "pictures"
        done = lockstep("data", "make", "cifar10", data, "--samples", "48")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [*QUICK, f"data.path={data}"]

    def expect_same(self, a, b):
        self.assertEqual(losses(a), losses(b))
        self.assertEqual(epoch_results(a), epoch_results(b))

    def test_a_rehearsed_run_is_the_same_run(self):
        with Folder() as folder:
            for name, more in {"adam": [], "sgd": SGD, "timed": [*SGD, "measure.every=3"],
                               "ranks": [*SGD, "comm.ranks=2"],
                               "average": [*SGD, "optim.lookahead_steps=3"],
                               "quick": self.pictures(folder)}.items():
                with self.subTest(name):
                    plain, _ = self.train(folder, name + "0", *more)
                    first, said = self.train(folder, name + "1", *more, "train.rehearse=2")
                    self.expect_same(plain, first)
                    steps = record(first)["steps"]
                    # 160 samples are 13 batches of 12 and one of 4; 40 are 3 and one.
                    self.assertEqual(steps["rehearsed_steps"], 4)
                    self.assertGreater(steps["rehearsal_s"], 0)
                    self.assertGreater(steps["training_s"], 0)
                    self.assertNotIn("rehearsed_steps", record(plain)["steps"])
                    self.assertEqual(said.stderr.count("epoch   1"), 1)

    def test_a_batch_that_adapts_rehearses_its_first_size(self):
        with Folder() as folder:
            adaptive = [*SGD, "batch.mode=adaptive", "batch.per_rank=0", "batch.global=12",
                        "batch.decide_every=4", "batch.noise_every=2"]
            plain, _ = self.train(folder, "plain", *adaptive)
            again, _ = self.train(folder, "again", *adaptive, "train.rehearse=2",
                                  f"batch.decisions={plain / 'decisions.jsonl'}")
            self.expect_same(plain, again)
            self.assertEqual(record(again)["steps"]["rehearsed_steps"], 4)

    def test_what_cannot_be_put_back_is_not_rehearsed(self):
        with Folder() as folder:
            for setting in ["strategy.kind=local_sgd", "strategy.hook=topk"]:
                done = lockstep("train", folder.recipe, "--out", folder.path / "no",
                                *sets("train.rehearse=1", "comm.ranks=2", setting))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("train.rehearse", done.stderr)

    def test_images_on_the_device_are_changed_as_the_loader_changes_them(self):
        with Folder() as folder:
            settings = self.pictures(folder)
            loaded, _ = self.train(folder, "loaded", *settings)
            kept, _ = self.train(folder, "kept", *settings, "data.resident=true")
            self.expect_same(loaded, kept)
            other, _ = self.train(folder, "other", *settings, "data.flip_alternate=false")
            self.assertNotEqual(losses(loaded), losses(other))

    def test_averages_and_views_change_what_they_should(self):
        with Folder() as folder:
            settings = self.pictures(folder)
            plain, _ = self.train(folder, "plain", *settings)
            once, _ = self.train(folder, "once", *settings, "train.eval_shift_px=0")
            self.assertEqual(losses(plain), losses(once))
            self.assertNotEqual(epoch_results(plain), epoch_results(once))
            average, _ = self.train(folder, "average", *settings, "optim.lookahead_steps=2")
            self.assertNotEqual(losses(plain), losses(average))

    def test_a_whitened_stem_is_not_trained_and_the_same_on_two_ranks(self):
        with Folder() as folder:
            settings = [*self.pictures(folder), "train.steps=3"]
            one, _ = self.train(folder, "one", *settings, "batch.per_rank=8")
            two, _ = self.train(folder, "two", *settings, "batch.per_rank=4", "comm.ranks=2",
                                "strategy.sync_batchnorm=true", "optim.lr=0.01")
            self.assertEqual(tensor(one, "stem.weight"), tensor(two, "stem.weight"))
            self.assertNotEqual(tensor(one, "stem.bias"), tensor(two, "stem.bias"))


def tensor(run, name):
    """Its bytes, from the last checkpoint."""
    file = sorted((run / "checkpoint").rglob("model*.safetensors"))[-1].read_bytes()
    size = int.from_bytes(file[:8], "little")
    begin, end = json.loads(file[8:8 + size])[name]["data_offsets"]
    return file[8 + size + begin:8 + size + end]


if __name__ == "__main__":
    unittest.main()
