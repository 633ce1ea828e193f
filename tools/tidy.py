#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py [BUILD [FOLDER...]]: clang-tidy over our sources, or over those in the folders,
each only when it or a header of ours that it includes changed.

A file on LibTorch takes 24 s, so what was clean is remembered in .cache/tidy by
the content of the file, of those headers and of .clang-tidy.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache/tidy"
TIDY = "clang-tidy-19"


def entries(build):
    """Compile commands of our C++ sources, without GCC's precompiled header."""
    text = (build / "compile_commands.json").read_text()
    for entry in json.loads(text):
        file = pathlib.Path(entry["file"])
        inside = ROOT in file.parents and build not in file.parents
        if not inside or file.suffix != ".cpp":
            continue
        # Warnings are the compiler's part, and clang does not know all of GCC's.
        command = re.sub(r"-include \S+cmake_pch\.hxx", "", entry["command"])
        words = [w for w in shlex.split(command) if not w.startswith("-W")]
        if pathlib.Path(words[0]).name == "ccache":
            words = words[1:]
        yield {**entry, "command": shlex.join(words)}


@functools.cache
def includes(file):
    """Our own headers that a file names, by quotes and from the root."""
    names = re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE)
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def digest_of(file):
    """Of the file, of every header it reaches and of the settings."""
    reached, new = set(), [file]
    while new:
        reached.update(new)
        new = [header for one in new for header in includes(one) if header not in reached]
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for one in sorted(reached):
        digest.update(one.read_bytes())
    return digest.hexdigest()


def tidy(file, database):
    done = subprocess.run([TIDY, "--quiet", "-p", database, file], capture_output=True, text=True)
    return done.returncode, done.stdout


def main():
    build = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build-lint")
    CACHE.mkdir(parents=True, exist_ok=True)
    folders = [ROOT / folder for folder in sys.argv[2:]] or [ROOT]
    todo = {}
    listed = [e for e in entries(build)
              if any(folder in pathlib.Path(e["file"]).parents for folder in folders)]
    for entry in listed:
        stamp = CACHE / digest_of(pathlib.Path(entry["file"]))
        if not stamp.exists():
            todo[entry["file"]] = stamp
    bad = 0
    with tempfile.TemporaryDirectory() as database:
        (pathlib.Path(database) / "compile_commands.json").write_text(json.dumps(listed))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(tidy, file, database): file for file in todo}
            for job in concurrent.futures.as_completed(jobs):
                code, text = job.result()
                if code == 0:
                    todo[jobs[job]].touch()
                else:
                    bad += 1
                    print(text)
    print(f"clang-tidy: {len(listed)} files, {len(todo)} looked at, {bad} with complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
