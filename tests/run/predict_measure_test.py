# SPDX-License-Identifier: Apache-2.0
"""Two ranks predicted before they have sent anything: a profile of two at work
beside each other and a probe of this machine's link say what the trainer then
measures, for every strategy."""
import unittest

from predicting import agree, ended_well, predicted, profile, step_of, write_recipe
from running import Folder, lockstep

STRATEGIES = ("ddp", "data_parallel", "sharded", "local_sgd")
PARAMS = 6_000_000  # 24 MB: more than a cache holds
REPEATS, ATTEMPTS = 3, 3


class PredictAndMeasure(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.path = self.folder.path
        self.recipe = write_recipe(self.path, PARAMS)

    def measure(self, strategy, run):
        ended_well(lockstep("train", self.recipe, "--ranks", 2, "--set", f"strategy.kind={strategy}", "--out", run))
        return step_of(run, strategy)

    def attempt(self, number, wanted):
        """Profiled before and after; in between the strategies take turns, so that all of them meet what else runs."""
        machine = self.path / f"machine{number}.json"
        ended_well(lockstep("probe", "--ranks", 2, "--threads", 1, "--out", machine))
        profiles = [profile(self.recipe, self.path / f"before{number}.json")]
        runs = [(repeat, compared, self.path / f"{compared.strategy}_{number}_{repeat}")
                for repeat in range(REPEATS) for compared in wanted]
        taken = [(compared, self.measure(compared.strategy, run)) for _, compared, run in runs]
        profiles.append(profile(self.recipe, self.path / f"after{number}.json"))
        for compared, step_s in taken:
            compared.add(step_s)
        for compared in wanted:
            compared.said += [predicted(p, machine, compared.strategy) for p in profiles]

    def test_a_step_of_two_ranks_lies_in_its_interval(self):
        agree(ATTEMPTS, self.attempt, STRATEGIES)


if __name__ == "__main__":
    unittest.main()
