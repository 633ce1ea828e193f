# SPDX-License-Identifier: Apache-2.0
"""The MPI group with 2 to 4 processes on this machine, through mpirun."""

import os
import subprocess
import time
import unittest

PROGRAM = os.environ["LOCKSTEP_MPI_PROGRAM"]
MPIRUN = os.environ.get("LOCKSTEP_MPIRUN", "mpirun")


def mpirun(ranks, *arguments, options=(), seconds=120):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_mpi_yield_when_idle="1")
    return subprocess.run(
        [MPIRUN, "--oversubscribe", "-n", str(ranks), *options, PROGRAM,
         *map(str, arguments)],
        env=env, capture_output=True, text=True, timeout=seconds)


class MpiGroup(unittest.TestCase):
    def lines(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return sorted(done.stdout.splitlines())

    def test_every_collective_equals_the_serial_reference(self):
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.lines(mpirun(ranks, "cases")),
                                 [f"{r}/{ranks} ok" for r in range(ranks)])

    def test_many_transfers_may_be_under_way(self):
        self.assertEqual(self.lines(mpirun(3, "many")),
                         ["0/3 ok", "1/3 ok", "2/3 ok"])

    def test_a_transfer_moves_while_the_rank_does_something_else(self):
        self.assertEqual(self.lines(mpirun(2, "overlap")),
                         ["0/2 moved while away", "1/2 moved while away"])

    def test_ranks_agree_and_clocks_are_aligned_within_their_bound(self):
        self.assertEqual(self.lines(mpirun(3, "share")),
                         ["0/3 ok", "1/3 ok", "2/3 ok"])

    def test_ranks_that_call_different_things_are_refused(self):
        done = mpirun(2, "differ")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("all_reduce of 5 fp32", done.stdout)
        self.assertIn("all_reduce of 4 fp32", done.stdout)

    # Survivors live where the launcher lets them; each says its own code.
    def survivors(self, how, deadline_s):
        begin = time.monotonic()
        done = mpirun(3, how, deadline_s, options=("--enable-recovery",),
                      seconds=60)
        return done.stdout.splitlines(), time.monotonic() - begin

    def test_a_rank_that_throws_is_named_to_the_others_at_once(self):
        lines, took = self.survivors("throw", 30)
        for rank in (0, 1):
            self.assertIn(f"{rank} left with 5 rank 2: failed: out of paper",
                          lines)
        self.assertLess(took, 20)

    def test_a_killed_rank_makes_the_survivors_leave_with_5(self):
        lines, took = self.survivors("kill", 2)
        left = [line for line in lines if " left with 5 " in line]
        self.assertEqual(len(left), 2, lines)
        self.assertTrue(any("rank 2: no answer for 2 s in all_reduce" in line
                            for line in left), left)
        self.assertLess(took, 30)

    def test_a_silent_rank_makes_the_others_leave_with_5(self):
        # Plain mpirun then ends the silent one and passes their code on.
        begin = time.monotonic()
        done = mpirun(3, "stop", 3, seconds=60)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("rank 2: no answer for 3 s in all_reduce", done.stdout)
        self.assertLess(time.monotonic() - begin, 30)

    def test_plain_mpirun_ends_the_survivors_of_a_killed_rank(self):
        self.assertEqual(mpirun(2, "kill", 20).returncode, 137)


if __name__ == "__main__":
    unittest.main()
