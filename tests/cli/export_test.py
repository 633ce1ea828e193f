# SPDX-License-Identifier: Apache-2.0
"""lockstep export --tensorboard: what was recorded, read back by another reader."""
import csv
import pathlib
import struct
import tempfile
import unittest

from event_file import events
from made_runs import made_run
from program import lockstep


def as_float(text):
    return struct.unpack("<f", struct.pack("<f", float(text)))[0]


class Export(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.at = pathlib.Path(self.dir.name)

    def export(self, *arguments, code=0):
        done = lockstep("export", "--tensorboard", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return [pathlib.Path(line) for line in done.stdout.splitlines()], done.stderr

    def test_every_number_comes_back(self):
        run = made_run(self.at / "run", ranks=2, steps=30, epochs=3)
        (file,), _ = self.export(run)
        self.assertEqual(file.parent, run / "tensorboard")
        self.assertIn("tfevents", file.name)
        version, found = events(file)
        self.assertEqual(version, b"brain.Event:2")
        by_tag = {}
        for tag, step, _, value in found:
            by_tag.setdefault(tag, {})[step] = value
        with open(run / "steps.csv") as table:
            steps = [row for row in csv.DictReader(table) if row["rank"] == "0"]
        for column in ("loss", "step_s", "exposed_comm_s", "forward_s"):
            self.assertEqual(by_tag[f"step/{column}"],
                             {int(r["step"]): as_float(r[column]) for r in steps})
        with open(run / "epochs.csv") as table:
            epochs = list(csv.DictReader(table))
        for column in ("train_loss", "val_accuracy", "lr", "seconds"):
            self.assertEqual(by_tag[f"epoch/{column}"],
                             {int(r["epoch"]): as_float(r[column]) for r in epochs})
        self.assertNotIn("epoch/information_nats", by_tag)
        times = [time for tag, _, time, _ in found if tag == "step/step_s"]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], 1794744000)  # 2026-11-15T12:00:00Z

    def test_several_runs_get_a_folder_each(self):
        runs = [made_run(self.at / name, steps=5) for name in ("a", "b")]
        files, _ = self.export(*runs, "--out", self.at / "board")
        self.assertEqual([f.parent for f in files], [self.at / "board/a", self.at / "board/b"])

    def test_lost_losses_and_bad_questions(self):
        (file,), _ = self.export(made_run(self.at / "lost", nan_loss=True, steps=5))
        self.assertNotIn("step/loss", {tag for tag, *_ in events(file)[1]})
        self.assertEqual(lockstep("export", self.at / "lost").returncode, 2)
        self.export(code=2)
        self.assertIn("not a run folder", self.export(self.at, code=6)[1])


if __name__ == "__main__":
    unittest.main()
