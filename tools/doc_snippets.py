#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell snippets of README.md and docs/ that are marked to be run.

A line `<!-- run -->` before a ```sh block marks it for every build,
`<!-- run: train -->` for one with the train half. A snippet runs in a copy-free
scratch folder with `lockstep` in PATH and links to recipes/, examples/ and results/; any
command that fails, fails it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MARKED = re.compile(r"^<!-- run(: train)? -->\n+```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets(with_train):
    """(page, line, commands) of each marked block this build can run."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        for match in MARKED.finditer(text):
            if with_train or not match.group(1):
                line = text.count("\n", 0, match.start()) + 1
                yield page.relative_to(ROOT), line, match.group(2)


def run(commands, program, timeout_s=300):
    """What went wrong, or an empty text."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("recipes", "examples", "results"):
            if (ROOT / name).exists():
                os.symlink(ROOT / name, pathlib.Path(folder) / name)
        path = f"{pathlib.Path(program).parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder,
                              env={**os.environ, "PATH": path}, capture_output=True, text=True,
                              timeout=timeout_s)
    return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-800:]}"


def main():
    program = os.environ.get("LOCKSTEP_BIN", str(ROOT / "build/bin/lockstep"))
    with_train = sys.argv[1:] != ["--study"]  # a study build trains nothing
    bad = 0
    for page, line, commands in snippets(with_train):
        wrong = run(commands, program)
        print(f"{page}:{line}: {wrong or 'ok'}")
        bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
