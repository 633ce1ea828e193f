# SPDX-License-Identifier: Apache-2.0
"""Runs the built program as a user would: arguments in, exit code and text out."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("LOCKSTEP_BIN", str(ROOT / "build/bin/lockstep"))


def lockstep(*arguments, cwd=None, env=None, timeout=60):
    """The finished process; env is added to ours."""
    return subprocess.run([BIN, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(env or {})})


def verbs():
    """Every verb the program has, from its own --help."""
    text = lockstep("--help").stdout
    lines = text[text.index("Subcommands:"):].splitlines()[1:]
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
