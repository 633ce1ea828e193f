#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/settings.md from `lockstep config --explain`; --check only compares."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/settings.md"
HEAD = """# Settings

Every setting of a recipe, as `lockstep config --explain` prints it. Written by
`tools/settings_doc.py`, never by hand. In a recipe a section is a TOML table; on the
command line it is `--set section.field=value`.
"""


def page(program):
    done = subprocess.run([program, "config", "--explain", "--json"], check=True,
                          capture_output=True, text=True)
    text, section = HEAD, ""
    for row in json.loads(done.stdout)["rows"]:
        name, field = row["setting"].split(".")
        if name != section:
            text += f"\n## {name}\n\n| setting | default | values | meaning |\n| --- | --- | --- | --- |\n"
            section = name
        text += f"| `{field}` | `{row['default']}` | {row['values']} | {row['help']} |\n"
    return text


def main():
    new = page(os.environ.get("LOCKSTEP_BIN", str(ROOT / "build/bin/lockstep")))
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == new:
            return 0
        print("docs/settings.md is not what the program says: run python3 tools/settings_doc.py")
        return 1
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
