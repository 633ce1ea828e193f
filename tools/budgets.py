#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of files and functions against their budgets.

Over the aim: listed, think again. Over the line: --check ends with 1. Data
tables are exempt by name (EXEMPT).
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# kind: (aim, line)
BUDGETS = {"library": (150, 400), "test": (200, 600), "header": (60, 150),
           "command": (80, 150), "function": (25, 60)}
EXEMPT = set()
# Comments, strings and characters: their braces do not count.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")


def sources():
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found = (pathlib.Path(f) for f in listed)
    return sorted(f for f in found if f.suffix in (".h", ".cpp", ".cu", ".py")
                  and str(f) not in EXEMPT and (ROOT / f).is_file())


def kind_of(path):
    if path.parts[0] == "tests":
        return "test"
    # A kernel's body is a source that several files compile.
    if path.suffix == ".h" and not path.name.endswith("_body.h"):
        return "header"
    if path.parts[0] == "cli" and path.name.startswith("cmd_"):
        return "command"
    return "library"


def blank(match):
    """The same number of lines, nothing else."""
    return "\n" * match.group(0).count("\n")


def functions(text):
    """(name, first line, lines) of each function whose scope is a namespace or a class."""
    text = NOISE.sub(blank, text)
    stack, begin = [], 0  # begin: where the current declaration starts
    for i, c in enumerate(text):
        if c == "{":
            head = text[begin:i]
            scopes_only = all(kind == "scope" for kind, _ in stack)
            if SCOPE.search(head):
                kind = "scope"
            elif scopes_only and "(" in head and "=" not in head.split("(")[0]:
                kind = "function"
            else:
                kind = "block"
            stack.append((kind, begin + len(head) - len(head.lstrip())))
            begin = i + 1 if kind == "scope" else begin
        elif c == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                name = text[start:i].split("(")[0].split()[-1]
                yield name, text.count("\n", 0, start) + 1, text.count("\n", start, i) + 1
            if all(kind == "scope" for kind, _ in stack):
                begin = i + 1
        elif c == ";" and all(kind == "scope" for kind, _ in stack):
            begin = i + 1


def measure():
    for path in sources():
        text = (ROOT / path).read_text()
        yield kind_of(path), str(path), text.count("\n")
        if path.suffix in (".cpp", ".cu", ".h"):
            for name, line, count in functions(text):
                yield "function", f"{path}:{line} {name}", count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="print only what is over the line")
    asked = parser.parse_args()
    over_aim, over_line = [], []
    for kind, what, count in measure():
        aim, line = BUDGETS[kind]
        if count > line:
            over_line.append((kind, what, count, line))
        elif count > aim:
            over_aim.append((kind, what, count, aim))
    if not asked.check:
        for kind, what, count, aim in sorted(over_aim):
            print(f"{kind:9} {count:4} lines, aim {aim:3}: {what}")
    for kind, what, count, line in sorted(over_line):
        print(f"{kind:9} {count:4} lines, LINE IS {line}: {what}")
    print(f"budgets: {len(over_aim)} over the aim, {len(over_line)} over the line")
    return 1 if over_line else 0


if __name__ == "__main__":
    sys.exit(main())
