# SPDX-License-Identifier: Apache-2.0
"""A program under comparison that stays alive: it is sent a line for each turn
and answers with a line of JSON."""
import json
import os
import subprocess


class Worker:
    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: {self.process.args[0]} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
