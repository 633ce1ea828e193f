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
import torchvision


def linear():
    nn = torch.nn
    return nn.Sequential(nn.Linear(12000, 1000), nn.ReLU(), nn.Linear(1000, 100), nn.ReLU(),
                         nn.Linear(100, 10), nn.Sigmoid(), nn.Linear(10, 10))


def conv1d():
    nn = torch.nn
    return nn.Sequential(nn.Unflatten(1, (1, 12000)),
                         nn.Conv1d(1, 50, 200, padding=100), nn.ReLU(), nn.MaxPool1d(4),
                         nn.Conv1d(50, 30, 100, padding=50), nn.ReLU(), nn.MaxPool1d(3),
                         nn.Conv1d(30, 10, 50, padding=25), nn.ReLU(), nn.MaxPool1d(5),
                         nn.Flatten(), nn.Linear(2000, 100), nn.Sigmoid(), nn.Linear(100, 10))


def resnet18():
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


MODELS = {"linear": (linear, (12000,)), "conv1d": (conv1d, (12000,)),
          "resnet18": (resnet18, (3, 32, 32))}


def make_optimizer(name, params, setting):
    if name == "resnet18":
        return torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4, **setting)
    return torch.optim.Adam(params, lr=1e-3, **setting)


class Bench:
    def __init__(self, name, batch):
        make, sample = MODELS[name]
        self.name, self.model = name, make()
        self.inputs = torch.randn(batch, *sample)
        self.targets = torch.randint(0, 10, (batch,))
        self.setting = min(({"fused": True}, {"foreach": True}), key=self.try_setting)
        self.optimizer = make_optimizer(name, self.model.parameters(), self.setting)

    def try_setting(self, setting):
        self.optimizer = make_optimizer(self.name, self.model.parameters(), setting)
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
    print(json.dumps({"parameters": sum(p.numel() for p in bench.model.parameters()),
                      "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "optimizer": next(iter(bench.setting))}), flush=True)
    for line in sys.stdin:
        print(json.dumps(bench.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
