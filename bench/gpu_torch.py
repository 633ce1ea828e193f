# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/gpu.py: one model, one batch on the GPU, one mode.

    python3 bench/gpu_torch.py MODEL BATCH fp32|tf32|bf16 eager|graph|compile ROUNDS [wait]

Prints one line of JSON: milliseconds a step of each round. The settings are those of
bench/gpu_bench.cpp. With "wait" it says "ready" once warm and times after a line on
standard input.
"""
import contextlib
import json
import sys
import time

import torch

from torch_models import (MODELS, convolves_images, count_parameters, make_optimizer,
                          random_batch)


class Step:
    """Forward, loss, backward and update, in one of the modes people use."""

    def __init__(self, name, batch, precision, mode):
        self.tuned = mode != "eager"
        torch.backends.cudnn.benchmark = self.tuned
        torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
        torch.backends.cudnn.allow_tf32 = True  # PyTorch's own setting
        self.model = MODELS[name][0]().cuda()
        self.inputs, self.targets = random_batch(name, batch)
        if self.tuned and convolves_images(name):
            self.model = self.model.to(memory_format=torch.channels_last)
            self.inputs = self.inputs.to(memory_format=torch.channels_last)
        setting = {"fused": True} if self.tuned else {}
        if mode == "graph" and not convolves_images(name):
            setting["capturable"] = True  # Adam counts its steps; SGD has nothing to count
        self.optimizer = make_optimizer(name, self.model.parameters(), **setting)
        self.bf16 = precision == "bf16"
        self.forward = torch.compile(self.loss, mode="reduce-overhead") if mode == "compile" \
            else self.loss

    def loss(self):
        cast = torch.autocast("cuda", torch.bfloat16) if self.bf16 else contextlib.nullcontext()
        with cast:
            logits = self.model(self.inputs)
            return torch.nn.functional.cross_entropy(logits.flatten(0, -2), self.targets.flatten())

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
    name, batch, precision, mode, rounds = sys.argv[1:6]
    torch.manual_seed(1)
    step = Step(name, int(batch), precision, mode)
    run = captured(step) if mode == "graph" else step.run
    steps = 200 if name == "linear" else 30
    for _ in range(10):
        run()
    if sys.argv[6:] == ["wait"]:
        torch.cuda.synchronize()
        print("ready", flush=True)
        sys.stdin.readline()
    step_ms = []
    for _ in range(int(rounds)):
        for _ in range(5):
            run()
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
                      "parameters": count_parameters(step.model)}))


if __name__ == "__main__":
    main()
