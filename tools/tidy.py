#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py [BUILD [FOLDER...]]: clang-tidy over our sources, or over those in the folders,
each only when it or a header changed.

A file on LibTorch takes 24 s, so what was clean is remembered in .cache/tidy by
the content of the file, of all our headers and of .clang-tidy.
"""
import concurrent.futures
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


def headers_digest():
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for folder in ("lockstep", "cli", "tests"):
        for header in sorted((ROOT / folder).rglob("*.h")):
            digest.update(header.read_bytes())
    return digest


def tidy(file, database):
    done = subprocess.run([TIDY, "--quiet", "-p", database, file], capture_output=True, text=True)
    return done.returncode, done.stdout


def main():
    build = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")
    CACHE.mkdir(parents=True, exist_ok=True)
    folders = [ROOT / folder for folder in sys.argv[2:]] or [ROOT]
    common, todo = headers_digest(), {}
    listed = [e for e in entries(build)
              if any(folder in pathlib.Path(e["file"]).parents for folder in folders)]
    for entry in listed:
        digest = common.copy()
        digest.update(pathlib.Path(entry["file"]).read_bytes())
        stamp = CACHE / digest.hexdigest()
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
