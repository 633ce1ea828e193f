# SPDX-License-Identifier: Apache-2.0
"""Event files as the tensorboard package itself reads them."""
import pathlib
import tempfile
import unittest

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from event_file import events
from made_runs import made_run
from program import lockstep


class TensorBoard(unittest.TestCase):
    def test_it_reads_what_our_reader_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            run = made_run(pathlib.Path(folder) / "run", steps=40)
            done = lockstep("export", "--tensorboard", run)
            self.assertEqual(done.returncode, 0, done.stderr)
            board = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
            board.Reload()
            _, ours = events(done.stdout.strip())
            self.assertEqual(set(board.Tags()["scalars"]), {tag for tag, *_ in ours})
            theirs = [(tag, e.step, e.wall_time, e.value) for tag in board.Tags()["scalars"]
                      for e in board.Scalars(tag)]
            self.assertEqual(sorted(theirs), sorted(ours))


if __name__ == "__main__":
    unittest.main()
