# SPDX-License-Identifier: Apache-2.0
"""The MPI group between two network namespaces with their own addresses, over
TCP on a slowed link. Where the system forbids such namespaces, ctest counts it
as skipped and the output says why."""

import os
import subprocess
import unittest

import namespaces

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ["LOCKSTEP_MPI_PROGRAM"]


def two_hosts(rate, *arguments):
    return subprocess.run([os.path.join(ROOT, "tools", "two_hosts.sh"), rate,
                           PROGRAM, *arguments],
                          capture_output=True, text=True, timeout=60)


class TwoHosts(unittest.TestCase):
    def test_every_collective_equals_the_serial_reference(self):
        done = two_hosts("1gbit", "cases")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0/2 ok", "1/2 ok"])

    def test_the_link_is_as_slow_as_it_was_told_to_be(self):
        # Both ranks send half and receive half of 8 MB: at least 64 ms at 1 Gbit/s.
        done = two_hosts("1gbit", "timed")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seconds = [float(line.split()[1]) for line in done.stdout.splitlines()]
        self.assertEqual(len(seconds), 2)
        self.assertGreater(min(seconds), 0.055)


if __name__ == "__main__":
    namespaces.main()
