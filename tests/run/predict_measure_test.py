# SPDX-License-Identifier: Apache-2.0
"""Two ranks predicted before they have sent anything: a profile of two at work
beside each other and a probe of this machine's link say what the trainer then
measures, for every strategy."""
import statistics
import unittest

from predicting import ended_well, predicted, profile, sentence, step_of, write_recipe
from running import Folder, lockstep

STRATEGIES = ("ddp", "data_parallel", "sharded", "local_sgd")
PARAMS = 6_000_000  # 24 MB: more than a cache holds
# Of each strategy, in turns: what runs beside one of them meets the others too.
REPEATS = 3
ATTEMPTS = 3  # for those that were outside: another program may have come or gone


class PredictAndMeasure(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.path = self.folder.path
        self.recipe = write_recipe(self.path, PARAMS)

    def measure(self, strategy, run):
        ended_well(lockstep("train", self.recipe, "--ranks", 2, "--set", f"strategy.kind={strategy}", "--out", run))
        return step_of(run, strategy)

    def attempt(self, number, strategies):
        """{strategy: (measured step, what was predicted)}. The machine is profiled before and after:
        as busy as it was in between it shows itself there, and its own noise widens the intervals."""
        machine = self.path / f"machine{number}.json"
        ended_well(lockstep("probe", "--ranks", 2, "--threads", 1, "--out", machine))
        before = profile(self.recipe, self.path / f"before{number}.json")
        taken = {strategy: [] for strategy in strategies}
        for repeat in range(REPEATS):
            for strategy in strategies:
                taken[strategy].append(self.measure(strategy, self.path / f"{strategy}_{number}_{repeat}"))
        after = profile(self.recipe, self.path / f"after{number}.json")
        return {strategy: (statistics.median(steps), predicted((before, after), machine, strategy))
                for strategy, steps in taken.items()}

    def test_a_step_of_two_ranks_lies_in_its_interval(self):
        left, told = STRATEGIES, []
        for number in range(ATTEMPTS):
            found = self.attempt(number, left)
            left = [strategy for strategy, (measured_s, said) in found.items()
                    if not said["lo90_s"] <= measured_s <= said["hi90_s"]]
            told += [sentence(strategy, *found[strategy]) for strategy in left]
            if not left:
                return
        self.fail("; ".join(told))


if __name__ == "__main__":
    unittest.main()
