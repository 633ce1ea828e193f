# SPDX-License-Identifier: Apache-2.0
"""Every header of the library compiles alone.

LibTorch's headers cost 25 s each time, so headers that reach it are compiled
together twice, in alphabetical order and in the opposite one: whatever leans on
a neighbour fails in one of the two.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import unittest

import tree

QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
TORCH = re.compile(r"^\s*#\s*include\s*<(torch|ATen|c10)/", re.MULTILINE)


def headers():
    """Library headers; cuda/ needs the CUDA toolkit and is compiled with it, and a kernel's body
    (_body.h) is compiled by its sources for one instruction set each."""
    return [str(p) for p in tree.files(".h") if p.parts[0] == "lockstep"
            and p.parts[1] != "cuda" and not p.name.endswith(("_pch.h", "_body.h"))]


def reaches_torch(header, seen=None):
    seen = set() if seen is None else seen
    if header in seen or not (tree.ROOT / header).exists():
        return False
    seen.add(header)
    text = (tree.ROOT / header).read_text()
    return bool(TORCH.search(text)) or any(reaches_torch(h, seen) for h in QUOTED.findall(text))


def flags_of(folder):
    """How the build compiles a source of the folder, without its precompiled header."""
    for entry in json.loads((tree.BUILD / "compile_commands.json").read_text()):
        if f"/folder_{folder}.dir/" in entry["command"]:
            words = shlex.split(entry["command"])
            kept, i = [], 0
            while i < len(words):
                if words[i] in ("-isystem", "-idirafter"):
                    kept += words[i:i + 2]
                    i += 1
                elif re.match(r"-(I|D|std|W)", words[i]) and words[i] != "-Winvalid-pch":
                    kept.append(words[i])
                i += 1
            return kept
    raise AssertionError(f"the build has no source of {folder}")


def compile_together(names, flags):
    """The compiler's complaints about a source that includes these, in this order."""
    text = "".join(f'#include "{name}"\n' for name in names)
    done = subprocess.run(["g++", *flags, "-Wno-pragma-once-outside-header", "-fsyntax-only",
                           "-x", "c++", "-"],
                          input=text, cwd=tree.ROOT, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{names[0]} (and {len(names) - 1}): {done.stderr[:2000]}"


class Headers(unittest.TestCase):
    def check(self, batches, flags):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = pool.map(lambda names: compile_together(names, flags), batches)
        self.assertEqual([w for w in wrong if w], [])

    def test_study_headers_compile_alone_without_libtorch(self):
        study = [h for h in headers() if h.split("/")[1] in tree.STUDY]
        self.assertTrue(study)
        self.assertEqual([h for h in study if reaches_torch(h)], [])
        if tree.has_train_half():
            return  # the study build compiles them; once is enough
        self.check([[h] for h in study], flags_of("core"))

    def test_train_headers_compile_in_any_order(self):
        if not tree.has_train_half():
            return  # they are no part of a study build
        train = [h for h in headers() if h.split("/")[1] not in tree.STUDY]
        self.assertTrue(train)
        alone = [[h] for h in train if not reaches_torch(h)]
        torch = [h for h in train if reaches_torch(h)]
        self.check([torch, torch[::-1]] + alone, flags_of("train"))

    def test_a_header_that_leans_on_another_is_seen(self):
        self.assertNotEqual(compile_together(["does/not/exist.h"], ["-I."]), "")


if __name__ == "__main__":
    unittest.main()
