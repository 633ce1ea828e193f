# SPDX-License-Identifier: Apache-2.0
"""Each source names its licence; nothing names one machine."""
import re
import subprocess
import sys
import unittest

import tree

LICENCE = "SPDX-License-Identifier: Apache-2.0"
CODE = (".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".js")
# Home folders, work places and addresses of private networks.
FOLDERS = "|".join(("home", "root", "Users", "work"))
MACHINE = re.compile(rf"(?<![\w.}}])/({FOLDERS})/\w|\b10\.\d+\.\d+\.\d+\b|\b192\.168\.\d+")


def text_of(path):
    try:
        return (tree.ROOT / path).read_text()
    except UnicodeDecodeError:
        return None  # a binary file


class Files(unittest.TestCase):
    def test_every_source_begins_with_its_licence(self):
        wrong = []
        for path in tree.files(*CODE):
            head = text_of(path).splitlines()[:2]
            if not any(LICENCE in line for line in head):
                wrong.append(str(path))
        self.assertEqual(wrong, [])

    def test_no_file_names_a_machine(self):
        wrong = []
        for path in tree.files():
            text = text_of(path)
            for found in MACHINE.finditer(text or ""):
                line = text.count("\n", 0, found.start()) + 1
                wrong.append(f"{path}:{line}: {found.group(0)}")
        self.assertEqual(wrong, [])

    def test_such_names_are_seen(self):
        for folder in FOLDERS.split("|"):
            self.assertRegex(f"cd /{folder}/somebody/lockstep", MACHINE)
        # Below the tree the same words are names like any other.
            self.assertNotRegex(f"lockstep/{folder}/plan.h", MACHINE)

    def test_no_file_is_over_its_budget(self):
        done = subprocess.run([sys.executable, tree.ROOT / "tools/budgets.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
