# SPDX-License-Identifier: Apache-2.0
"""A rank that stops answering, as a thread of the real program: the program
leaves with 5 within the deadline and does not wait for it."""
import os
import time
import unittest

from running import (Folder, kill, lockstep, losses, sets, start,
                     wait_for_steps)

DEADLINE_S = 3


class Silent(unittest.TestCase):
    def lose(self, folder, run, how, *args, env=None):
        """Trains on two ranks, does `how` once it is under way, and gives
        what was said on the way out."""
        said = folder.path / "said"
        with open(said, "w") as stderr:
            process = start("train", *args, "--out", run, "--ranks", 2,
                            *sets("train.epochs=5000",
                                  f"comm.deadline_s={DEADLINE_S}"),
                            env=env, stderr=stderr)
        try:
            wait_for_steps(run, 5, process)
            how()
            begin = time.monotonic()
            self.assertEqual(process.wait(timeout=60), 5, said.read_text())
            self.assertLess(time.monotonic() - begin, DEADLINE_S + 10)
        finally:
            kill(process)
        self.assertFalse((run / "DONE").exists())
        return said.read_text()

    def test_a_disk_that_hangs_in_a_checkpoint_loses_rank_0(self):
        with Folder() as folder:
            run, whole = folder.path / "run", folder.path / "whole"
            hangs = folder.path / "hangs"
            said = self.lose(
                folder, run, hangs.touch, folder.recipe, *sets("batch.per_rank=6"),
                env={"LD_PRELOAD": os.environ["LOCKSTEP_SILENT_DISK"],
                     "DISK_HANGS_WHILE": str(hangs)})
            self.assertIn(f"rank 0: no answer for {DEADLINE_S} s", said)
            # The checkpoint before that one is whole.
            done = lockstep("train", "--resume", run, *sets("train.epochs=20"))
            self.assertEqual(done.returncode, 0, done.stderr)
            lockstep("train", folder.recipe, "--out", whole, "--ranks", 2,
                     *sets("batch.per_rank=6", "train.epochs=20"))
            self.assertEqual(losses(run), losses(whole))

    def test_a_file_that_never_comes_loses_the_rank_that_reads_it(self):
        with Folder() as folder:
            run, data = folder.path / "run", folder.path / "images"
            lockstep("data", "make", "images", data, "--samples", 40, "--px", 32)
            recipe = folder.path / "images.toml"
            recipe.write_text('[model]\nkind = "quick"\n[batch]\nper_rank = 4\n'
                              '[data]\nkind = "images"\nimage_px = 32\n'
                              f'path = "{data}"\n[train]\nthreads = 1\n')

            def replace_a_file():
                image = next(data.rglob("class_*/*"))
                image.unlink()
                os.mkfifo(image)  # opening it waits for someone to write

            said = self.lose(folder, run, replace_a_file, recipe)
            self.assertRegex(said, f"rank [01]: no answer for {DEADLINE_S} s")


if __name__ == "__main__":
    unittest.main()
