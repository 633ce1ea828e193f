# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/step.py: one model, one batch, steps on demand.

Every line on stdin is a number of steps; every answer is a line of JSON. The
optimiser runs in the faster of its settings, found by trying them.
"""
import json
import statistics
import sys
import time

import torch

from torch_models import MODELS, count_parameters, make_optimizer


class Bench:
    def __init__(self, name, batch):
        make, sample = MODELS[name]
        self.name, self.model = name, make()
        self.inputs = torch.randn(batch, *sample)
        self.targets = torch.randint(0, 10, (batch,))
        self.setting = min(({"fused": True}, {"foreach": True}), key=self.try_setting)
        self.optimizer = make_optimizer(name, self.model.parameters(), **self.setting)

    def try_setting(self, setting):
        self.optimizer = make_optimizer(self.name, self.model.parameters(), **setting)
        self.run(3)
        return statistics.median(self.run(5)["optim_s"])

    def run(self, steps):
        times = {"step_s": [], "forward_s": [], "backward_s": [], "optim_s": []}
        for _ in range(steps):
            t0 = time.perf_counter()
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(self.inputs), self.targets)
            t1 = time.perf_counter()
            loss.backward()
            t2 = time.perf_counter()
            self.optimizer.step()
            t3 = time.perf_counter()
            for key, value in zip(times, (t3 - t0, t1 - t0, t2 - t1, t3 - t2)):
                times[key].append(value)
        return {**times, "loss": loss.item()}


def main():
    name, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    bench = Bench(name, batch)
    print(json.dumps({"parameters": count_parameters(bench.model),
                      "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "optimizer": next(iter(bench.setting))}), flush=True)
    for line in sys.stdin:
        print(json.dumps(bench.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
