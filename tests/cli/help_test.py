# SPDX-License-Identifier: Apache-2.0
"""The text of --help is a promise: it changes only on purpose.

After a change on purpose: python3 tests/cli/help_test.py --update
Words are compared, not spaces: CLI11 sets its columns differently from one
version to the next.
"""
import os
import pathlib
import sys
import unittest

from program import lockstep, verbs

GOLDEN = pathlib.Path(__file__).parent / "golden"
UPDATE = "python3 tests/cli/help_test.py --update"


def golden_of(verb):
    return GOLDEN / f"help_{verb or 'lockstep'}.txt"


def help_of(verb):
    return lockstep(*([verb] if verb else []), "--help")


class Help(unittest.TestCase):
    def test_every_help_is_the_golden_one(self):
        for verb in [""] + verbs():
            with self.subTest(verb=verb):
                path = golden_of(verb)
                self.assertTrue(path.exists(), f"{path.name} is missing: {UPDATE}")
                asked = help_of(verb)
                self.assertEqual(asked.returncode, 0)
                self.assertEqual(asked.stdout.split(), path.read_text().split(), UPDATE)

    def test_every_golden_text_has_its_verb(self):
        named = {golden_of(verb).name for verb in [""] + verbs()}
        self.assertEqual({p.name for p in GOLDEN.glob("help_*.txt")}, named)


def update():
    for old in GOLDEN.glob("help_*.txt"):
        old.unlink()
    for verb in [""] + verbs():
        golden_of(verb).write_text(help_of(verb).stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        os.makedirs(GOLDEN, exist_ok=True)
        update()
    else:
        unittest.main()
