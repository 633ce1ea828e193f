# SPDX-License-Identifier: Apache-2.0
"""Runs of several processes through mpirun: the same bits as threads, and what
happens to the others when one is killed."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

from running import (BIN, Folder, epoch_results, lockstep, losses, record,
                     sets, spoil_checkpoints, wait_for_steps)

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPIRUN = os.environ.get("LOCKSTEP_MPIRUN", "mpirun")
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_mpi_yield_when_idle="1")
SHARE = ["--set", "batch.per_rank=6"]
# Each process says which it is and how it left.
TELL = """
"$@" & echo $! > "$PIDS/$OMPI_COMM_WORLD_RANK"; wait $!
echo "rank $OMPI_COMM_WORLD_RANK left with $?"
"""


def command(*args, ranks=2, options=()):
    return [MPIRUN, "--oversubscribe", "-n", str(ranks), *options,
            *map(str, args)]


def mpirun(*args, **options):
    return subprocess.run(command(BIN, *args, **options), env=ENV,
                          capture_output=True, text=True, timeout=240)


class Mpi(unittest.TestCase):
    def test_processes_give_the_same_bits_as_threads(self):
        for strategy, hook in (("ddp", "none"), ("sharded", "none"),
                               ("sharded", "bf16"), ("local_sgd", "topk")):
            with self.subTest(strategy=strategy, hook=hook), Folder() as folder:
                threads, mpi = folder.path / "threads", folder.path / "mpi"
                settings = [*SHARE, "--set", f"strategy.kind={strategy}",
                            "--set", f"strategy.hook={hook}"]
                lockstep("train", folder.recipe, "--out", threads, "--ranks",
                         2, *settings)
                done = mpirun("train", folder.recipe, "--out", mpi, *settings)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(record(mpi)["backend"], "mpi")
                self.assertEqual(losses(mpi), losses(threads))
                self.assertEqual(epoch_results(mpi), epoch_results(threads))

    def test_the_linear_recipe_gives_the_same_losses_either_way(self):
        """Seed 000's model as its recipe has it, a few steps, one thread a
        rank."""
        with Folder() as folder:
            threads, mpi = folder.path / "threads", folder.path / "mpi"
            settings = sets("train.steps=5", "train.threads=1",
                            "store.checkpoint=false", *self.digits(folder))
            recipe = ROOT / "recipes" / "linear.toml"
            done = lockstep("train", recipe, "--ranks", 2, "--out", threads,
                            *settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = mpirun("train", recipe, "--out", mpi, *settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(losses(mpi)), 2 * 5)
            self.assertEqual(losses(mpi), losses(threads))

    def digits(self, folder):
        """The recordings where they are, else made-up ones."""
        if lockstep("data", "check", "digits").returncode == 0:
            return []
        made = folder.path / "digits"
        self.assertEqual(lockstep("data", "make", "digits", made, "--samples", 200).returncode, 0)
        return [f"data.path={made}"]

    def test_a_number_of_ranks_that_contradicts_the_launcher_is_refused(self):
        with Folder() as folder:
            done = mpirun("train", folder.recipe, "--ranks", 3, *SHARE)
            self.assertIn("comm.ranks", done.stderr)
            self.assertNotEqual(done.returncode, 0)


class Lost(unittest.TestCase):
    def lose(self, folder, how, settings=()):
        """Starts two ranks that say how they left, does `how` to them once
        they train, and gives what they said."""
        run, pids = folder.path / "run", folder.path / "pids"
        pids.mkdir()
        process = subprocess.Popen(
            command("sh", "-c", TELL, "sh", BIN, "train", folder.recipe,
                    "--out", run, *SHARE, "--set", "train.epochs=5000",
                    *settings, options=["--enable-recovery"]),
            env={**ENV, "PIDS": str(pids)}, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        wait_for_steps(run, 20, process)
        how(run, pids)
        return process.communicate(timeout=120)[0]

    def test_the_survivor_of_a_killed_rank_leaves_with_5(self):
        with Folder() as folder:
            begin = time.monotonic()
            out = self.lose(
                folder, lambda _, pids: os.kill(
                    int((pids / "1").read_text()), signal.SIGKILL),
                ["--set", "comm.deadline_s=2"])
            self.assertIn("rank 0 left with 5", out)
            self.assertLess(time.monotonic() - begin, 60)

    def test_a_rank_whose_checkpoint_fails_makes_the_others_leave_with_5(self):
        with Folder() as folder:
            out = self.lose(folder, lambda run, _: spoil_checkpoints(run))
            self.assertIn("rank 0 left with 6", out)
            self.assertIn("rank 1 left with 5", out)

    def test_under_plain_mpirun_the_last_checkpoint_resumes(self):
        with Folder() as folder:
            run, whole = folder.path / "run", folder.path / "whole"
            self.assertEqual(self.kill_plain(folder, run), 137)
            self.assertFalse((run / "DONE").exists())
            done = mpirun("train", "--resume", run, "--set", "train.epochs=40")
            self.assertEqual(done.returncode, 0, done.stderr)
            mpirun("train", folder.recipe, "--out", whole, *SHARE, "--set",
                   "train.epochs=40")
            self.assertEqual(losses(run), losses(whole))

    def kill_plain(self, folder, run):
        process = subprocess.Popen(
            command("sh", "-c",
                    'echo $$ > "$PIDS.$OMPI_COMM_WORLD_RANK"; exec "$@"',
                    "sh", BIN, "train", folder.recipe, "--out", run, *SHARE,
                    "--set", "train.epochs=2000"),
            env={**ENV, "PIDS": str(folder.path / "pid")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_steps(run, 20, process)
        os.kill(int(pathlib.Path(f"{folder.path}/pid.1").read_text()),
                signal.SIGKILL)
        return process.wait(timeout=60)


if __name__ == "__main__":
    unittest.main()
