# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tree share: the repository's files as git sees them."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LOCKSTEP_BUILD", ROOT / "build"))
STUDY = "core config plan hardware predict batch store analyse advise sweep report serve".split()
TRAIN = "device measure data model comm strategy optim kernels train cuda".split()


def files(*suffixes):
    """Paths below ROOT, tracked or new, not ignored; with one of the suffixes, if any."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [pathlib.Path(f) for f in listed if (ROOT / f).is_file()]
    return sorted(f for f in found if not suffixes or f.suffix in suffixes)


def sources():
    return files(".h", ".cpp", ".cu", ".cuh")


def cache_entry(name):
    """A value of the build's CMakeCache.txt."""
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return ""


def has_train_half():
    return cache_entry("LOCKSTEP_TRAIN") == "ON"
