# SPDX-License-Identifier: Apache-2.0
"""Two hosts joined by 1 Gbit/s, predicted and then measured. Here the link
decides, whatever else this machine does: prices of messages show. The hosts are
network namespaces; where the system forbids them, ctest counts this as skipped
and the output says why."""
import os
import pathlib
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "comm"))
import namespaces
from predicting import agree, ended_well, predicted, profile, step_of, write_recipe
from running import BIN, Folder

TWO_HOSTS = pathlib.Path(__file__).resolve().parents[2] / "tools/two_hosts.sh"
PARAMS = 2_000_000  # 8 MB: some 70 ms on the link
ATTEMPTS = 3


def on_two_hosts(*args):
    return ended_well(subprocess.run([TWO_HOSTS, "1gbit", BIN, *map(str, args)], capture_output=True, text=True,
                                     timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1"}))


class OverASlowLink(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.path = self.folder.path
        self.recipe = write_recipe(self.path, PARAMS)

    def attempt(self, number, wanted):
        machine = self.path / f"machine{number}.json"
        on_two_hosts("probe", "--threads", 1, "--out", machine)
        measured = profile(self.recipe, self.path / f"profile{number}.json")
        for compared in wanted:
            run = self.path / f"{compared.strategy}{number}"
            on_two_hosts("train", self.recipe, "--set", f"strategy.kind={compared.strategy}", "--out", run)
            compared.add(step_of(run, compared.strategy), predicted(measured, machine, compared.strategy))

    def test_a_step_of_two_hosts_lies_in_its_interval(self):
        found = agree(ATTEMPTS, self.attempt, ("ddp", "sharded", "local_sgd"))
        # An average every eight steps instead of gradients in each: these are prices of different messages.
        step_s = {name: statistics.median(compared.measured_s) for name, compared in found.items()}
        self.assertLess(step_s["local_sgd"], 0.5 * step_s["ddp"])


if __name__ == "__main__":
    namespaces.main()
