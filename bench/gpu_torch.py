# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/gpu.py: one model, one batch on the GPU, one mode.

    python3 bench/gpu_torch.py MODEL BATCH fp32|tf32|bf16 eager|graph|compile ROUNDS

Prints one line of JSON: milliseconds a step of each round. The models are
PyTorch's own and torchvision's, the settings those of bench/gpu_bench.cpp.
"""
import contextlib
import json
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


def mobilenet_v2():
    return torchvision.models.mobilenet_v2(num_classes=10)


MODELS = {"linear": (linear, (12000,)), "conv1d": (conv1d, (12000,)),
          "resnet18": (resnet18, (3, 32, 32)), "mobilenet_v2": (mobilenet_v2, (3, 224, 224))}


class Step:
    """Forward, loss, backward and update, in one of the modes people use."""

    def __init__(self, name, batch, precision, mode):
        make, sample = MODELS[name]
        self.tuned = mode != "eager"
        torch.backends.cudnn.benchmark = self.tuned
        torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
        torch.backends.cudnn.allow_tf32 = True  # PyTorch's own setting
        self.model = make().cuda()
        self.inputs = torch.randn(batch, *sample, device="cuda")
        self.targets = torch.randint(0, 10, (batch,), device="cuda")
        if self.tuned and len(sample) == 3:
            self.model = self.model.to(memory_format=torch.channels_last)
            self.inputs = self.inputs.to(memory_format=torch.channels_last)
        self.optimizer = self.make_optimizer(len(sample) == 3, mode == "graph")
        self.bf16 = precision == "bf16"
        self.forward = torch.compile(self.loss, mode="reduce-overhead") if mode == "compile" \
            else self.loss

    def make_optimizer(self, images, capturable):
        extra = {"fused": True} if self.tuned else {}
        if images:
            return torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9,
                                   weight_decay=5e-4, **extra)
        if capturable:
            extra["capturable"] = True
        return torch.optim.Adam(self.model.parameters(), lr=1e-3, **extra)

    def loss(self):
        cast = torch.autocast("cuda", torch.bfloat16) if self.bf16 else contextlib.nullcontext()
        with cast:
            return torch.nn.functional.cross_entropy(self.model(self.inputs), self.targets)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.forward().backward()
        self.optimizer.step()


def captured(step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            step.run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    step.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step.run()
    return graph.replay


def main():
    name, batch, precision, mode, rounds = sys.argv[1:]
    torch.manual_seed(1)
    step = Step(name, int(batch), precision, mode)
    run = captured(step) if mode == "graph" else step.run
    steps = 200 if name == "linear" else 30
    for _ in range(10):
        run()
    step_ms = []
    for _ in range(int(rounds)):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            run()
        torch.cuda.synchronize()
        step_ms.append((time.perf_counter() - begin) / steps * 1e3)
    print(json.dumps({"step_ms": step_ms, "torch": torch.__version__,
                      "cudnn": torch.backends.cudnn.version(), "mode": mode,
                      "precision": precision,
                      "peak_mib": torch.cuda.max_memory_allocated() >> 20,
                      "parameters": sum(p.numel() for p in step.model.parameters())}))


if __name__ == "__main__":
    main()
