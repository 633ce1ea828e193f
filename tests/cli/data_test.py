# SPDX-License-Identifier: Apache-2.0
"""lockstep data in both builds."""
import unittest

from program import lockstep


class Usage(unittest.TestCase):
    def test_an_unknown_action_is_wrong_usage(self):
        done = lockstep("data", "lists")
        self.assertEqual(done.returncode, 2)
        self.assertIn("list, check, make or fetch", done.stderr)

    def test_a_build_without_the_training_half_says_so_in_one_line(self):
        if "none (study build)" not in lockstep("version").stdout:
            self.assertEqual(lockstep("data", "list").returncode, 0)
            return
        done = lockstep("data", "list")
        self.assertEqual(done.returncode, 2)
        self.assertIn("does not read training data", done.stderr)


if __name__ == "__main__":
    unittest.main()
