# SPDX-License-Identifier: Apache-2.0
"""What the pages say works: snippets run, links lead somewhere, tables are the program's."""
import os
import re
import subprocess
import sys
import unittest

import tree

sys.path.insert(0, str(tree.ROOT / "tools"))
import doc_snippets  # noqa: E402

LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)]*)?\)")


class Docs(unittest.TestCase):
    def test_marked_snippets_run(self):
        found = list(doc_snippets.snippets(tree.has_train_half()))
        self.assertNotEqual(found, [])
        for page, line, commands in found:
            with self.subTest(page=str(page), line=line):
                self.assertEqual(doc_snippets.run(commands, os.environ["LOCKSTEP_BIN"]), "")

    def test_a_snippet_that_fails_is_seen(self):
        self.assertIn("exit 2", doc_snippets.run("lockstep frobnicate\ntrue\n",
                                                 os.environ["LOCKSTEP_BIN"]))

    def test_the_page_of_settings_is_what_the_program_says(self):
        done = subprocess.run([sys.executable, tree.ROOT / "tools/settings_doc.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_links_between_pages_lead_somewhere(self):
        wrong = []
        for page in tree.files(".md"):
            for target, _ in LINK.findall((tree.ROOT / page).read_text()):
                if not (tree.ROOT / page.parent / target).exists():
                    wrong.append(f"{page}: {target}")
        self.assertEqual(wrong, [])

    def test_every_verb_has_its_place_in_the_page_of_the_program(self):
        text = (tree.ROOT / "docs/cli.md").read_text()
        done = subprocess.run([os.environ["LOCKSTEP_BIN"], "--help"], capture_output=True, text=True)
        lines = done.stdout[done.stdout.index("Subcommands:"):].splitlines()[1:]
        verbs = [line.split()[0] for line in lines if re.match(r"  \S", line)]
        self.assertEqual([v for v in verbs if f"`{v}" not in text], [])

    def test_the_map_of_the_tree_names_every_folder_and_no_other(self):
        text = (tree.ROOT / "docs/HACKING.md").read_text()
        table = text[text.index("## Map"):].split("## ")[1]
        named = set(re.findall(r"`([\w.]+(?:/\w+)?)/`", table))
        below = {p.parts for p in tree.files() if len(p.parts) > 1}
        there = {p[0] for p in below} | {f"lockstep/{p[1]}" for p in below
                                         if p[0] == "lockstep" and len(p) > 2}
        parts = {p[i] for p in below for i in range(1, len(p) - 1)}
        self.assertEqual(there - named - {"lockstep"}, set())
        self.assertEqual(named - there - parts, set())


if __name__ == "__main__":
    unittest.main()
