#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures any PyTorch module on one device and writes profile.json, which
`lockstep predict` and `lockstep advise` read (docs/profile.md). One file, needs
torch alone: copy it beside your own code.

    from lockstep_profile import profile, save
    save(profile(model, lambda batch: torch.randn(batch, 3, 224, 224), [8, 32]),
         "profile.json")

or, without writing Python:

    lockstep_profile.py torchvision.models:resnet18 --shape 3,224,224 --batches 8,32
"""
import argparse
import importlib
import importlib.util
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

SCHEMA = 1
WARM_UP = 4


class Clock:
    """Points in time on the device: mark now, read seconds later."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, a, b):
        return a.elapsed_time(b) * 1e-3 if self.cuda else b - a

    def settle(self):
        if self.cuda:
            torch.cuda.synchronize()


def tensors_of(value):
    """All tensors in what a module takes or gives."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_of(v)]
    return tensors_of(vars(value)) if hasattr(value, "__dict__") else []


def nbytes(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


class LayerClock:
    """One pass, cut into layers. A layer is a submodule that holds parameters
    itself or has no children. What runs after a layer and before the next
    begins (functions, additions) counts as part of it, so that layers add up to
    the whole."""

    def __init__(self, module, clock):
        self.clock = clock
        self.names = {m: n for n, m in module.named_modules()}
        self.layers = []  # in the order of their first call
        self.hooks = []
        for m in module.modules():
            if any(True for _ in m.parameters(recurse=False)) or not any(True for _ in m.children()):
                self.hooks.append(m.register_forward_pre_hook(self.enter))
                self.hooks.append(m.register_forward_hook(self.leave))
        self.begin_pass(0)

    def close(self):
        for hook in self.hooks:
            hook.remove()

    def begin_pass(self, input_storage):
        self.stack, self.forward, self.nodes = [], [], []
        self.current = 0
        self.kept, self.outputs = {}, {}
        self.seen = {input_storage}

    def cut(self, layer):
        self.current = layer
        self.forward.append((layer, self.clock.mark(), torch._C._autograd._get_sequence_nr()))

    def enter(self, module, _):
        if module not in self.layers:
            self.layers.append(module)
        self.stack.append(self.layers.index(module))
        self.cut(self.stack[-1])

    def leave(self, module, _, output):
        self.outputs[self.stack.pop()] = nbytes(tensors_of(output))
        if self.stack:  # back in the layer that called it
            self.cut(self.stack[-1])

    def keep(self, tensor):
        """Autograd saves a tensor for backward: counted once, never parameters."""
        place = tensor.untyped_storage().data_ptr()
        if place not in self.seen and not isinstance(tensor, nn.Parameter):
            self.seen.add(place)
            self.kept[self.current] = self.kept.get(self.current, 0) + tensor.untyped_storage().nbytes()
        return tensor

    def layer_of(self, number):
        """The layer under way when autograd's node of that number was made;
        the loss is the one after the last."""
        if number >= self.loss_begins:
            return len(self.layers)
        layer = 0
        for candidate, _, first in self.forward:
            if first > number:
                break
            layer = candidate
        return layer

    def watch_backward(self, loss, layer_of_param):
        """Marks the start of each node of the graph below `loss`."""
        todo, seen = [loss.grad_fn], set()
        while todo:
            node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            param = getattr(node, "variable", None)
            layer = layer_of_param(param) if param is not None else self.layer_of(node._sequence_nr())
            node.register_prehook(
                lambda _, n=layer, p=param: self.nodes.append((n, self.clock.mark(), p)))
            todo += [n for n, _ in node.next_functions]

    def spans(self, cuts, end):
        """Seconds of each layer and of the loss: from its mark to the next one."""
        out = [0.0] * (len(self.layers) + 1)
        marks = [c[1] for c in cuts] + [end]
        for (layer, _, _), a, b in zip(cuts, marks, marks[1:]):
            out[layer] += self.clock.between(a, b)
        return out


def default_loss(output):
    """Cross-entropy against class 0 where the output looks like logits, the
    model's own loss where it gives one, else the mean of all it gives."""
    if getattr(output, "loss", None) is not None:
        return output.loss
    tensors = [t for t in tensors_of(output) if t.is_floating_point()]
    if len(tensors) == 1 and tensors[0].dim() in (2, 3):
        logits = tensors[0].flatten(0, -2).float()
        return nn.functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=logits.device))
    return sum(t.float().mean() for t in tensors)


def median(values):
    return statistics.median(values)


class Stand:
    """The module under test with everything a step needs."""

    def __init__(self, module, make_input, device, precision, optimizer, loss):
        self.device = torch.device(device)
        self.clock = Clock(self.device)
        self.module = module.to(self.device).train()
        self.make_input, self.precision = make_input, precision
        self.loss = loss or default_loss
        make = optimizer or (lambda params: torch.optim.SGD(params, lr=1e-4, momentum=0.9))
        self.optimizer = make([p for p in module.parameters() if p.requires_grad])

    def inputs(self, batch):
        made = self.make_input(batch)
        return tuple(t.to(self.device) for t in (made if isinstance(made, (tuple, list)) else (made,)))

    def forward(self, inputs):
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            return self.module(*inputs)

    def step(self, inputs):
        self.optimizer.zero_grad()
        self.loss(self.forward(inputs)).backward()
        self.optimizer.step()

    def timed(self, run, count):
        """Seconds of each of `count` calls."""
        marks = [self.clock.mark()]
        for _ in range(count):
            run()
            marks.append(self.clock.mark())
        self.clock.settle()
        return [self.clock.between(a, b) for a, b in zip(marks, marks[1:])]


def whole_steps(stand, inputs, count):
    """(times of whole steps, times of the update alone, peak memory or None)"""
    cuda = stand.clock.cuda
    for _ in range(WARM_UP):
        stand.step(inputs)
    stand.clock.settle()
    if cuda:
        torch.cuda.reset_peak_memory_stats(stand.device)
    steps = stand.timed(lambda: stand.step(inputs), count)
    updates = stand.timed(stand.optimizer.step, max(3, count // 4))
    return steps, updates, torch.cuda.max_memory_allocated(stand.device) if cuda else None


def owners(module, called):
    """For each parameter the nearest module above it that forward calls."""
    by_name = dict(module.named_modules())
    out = {}
    for name, param in module.named_parameters():
        path = name.rpartition(".")[0]
        while path and by_name[path] not in called:
            path = path.rpartition(".")[0]
        out[param] = called.index(by_name[path]) if by_name[path] in called else 0
    return out


def layer_pass(stand, layers, inputs):
    """One pass with its layers timed: forward, backward, order of gradients."""
    stand.optimizer.zero_grad()
    layers.begin_pass(inputs[0].untyped_storage().data_ptr())
    with torch.autograd.graph.saved_tensors_hooks(layers.keep, lambda t: t):
        output = stand.forward(inputs)
        forward_end = stand.clock.mark()
        layers.loss_begins = torch._C._autograd._get_sequence_nr()
        loss = stand.loss(output)
        loss_end = stand.clock.mark()
    owner = owners(stand.module, layers.layers)
    layers.watch_backward(loss, owner.__getitem__)
    loss.backward()
    backward_end = stand.clock.mark()
    stand.clock.settle()
    return {"forward": layers.spans(layers.forward, forward_end)[:-1] + [stand.clock.between(forward_end, loss_end)],
            "backward": layers.spans(layers.nodes, backward_end),
            "order": [p for _, _, p in layers.nodes if p is not None],
            "owner": owner,
            "output": nbytes(tensors_of(output))}


def describe_layers(layers, batch):
    return [{"name": layers.names[m] or "(whole)", "type": type(m).__name__,
             "activation_bytes": layers.kept.get(i, 0) / batch,
             "output_bytes": layers.outputs.get(i, 0) / batch,
             "forward_s": [], "backward_s": []} for i, m in enumerate(layers.layers)]


def describe_params(out, module, last):
    params = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
    place = {p: i for i, (_, p) in enumerate(params)}
    order = [place[p] for p in last["order"] if p in place]
    out["params"] = [{"name": n, "numel": p.numel(), "layer": last["owner"][p],
                      "rows": p.shape[0] if p.dim() > 1 else 1} for n, p in params]
    # A parameter that backward never reached comes last.
    out["gradient_order"] = order + [i for i in range(len(params)) if i not in set(order)]


def state_bytes(optimizer):
    return nbytes([t for state in optimizer.state.values() for t in tensors_of(state) if t.dim() > 0])


def profile(module, make_input, batches, *, device="cpu", precision="fp32", optimizer=None, loss=None,
            steps=24, input_samples_per_s=0.0, name=None):
    """Profiles `module` on one device and gives the profile as a dict.

    make_input(batch) -> the module's input (a tensor or a tuple of tensors) for so many samples;
    batches: two or more sizes; optimizer(params) -> torch.optim.Optimizer, SGD with momentum when
    not given; loss(output) -> scalar, cross-entropy when not given; input_samples_per_s: what your
    loader can deliver, 0 when unknown."""
    batches = sorted(set(batches))
    if len(batches) < 2 or batches[0] < 1:
        raise ValueError("batches: two or more sizes from 1 on are needed")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    stand = Stand(module, make_input, device, precision, optimizer, loss)
    out = {"kind": "lockstep profile", "schema": SCHEMA, "model": name or type(module).__name__,
           "device": torch.cuda.get_device_name(stand.device) if stand.clock.cuda else "CPU",
           "software": f"torch {torch.__version__}", "precision": precision, "batches": batches,
           "step_s": [], "input_samples_per_s": input_samples_per_s}
    updates, memory = [], []
    for batch in batches:
        inputs = stand.inputs(batch)
        times, update, peak = whole_steps(stand, inputs, steps)
        layers = LayerClock(module, stand.clock)
        passes = [layer_pass(stand, layers, inputs) for _ in range(1 + max(3, steps // 3))][1:]
        layers.close()
        if "layers" not in out:
            out["layers"] = describe_layers(layers, batch)
            out["loss"] = {"forward_s": [], "backward_s": []}
        for i, layer in enumerate(out["layers"] + [out["loss"]]):
            layer["forward_s"].append(median([p["forward"][i] for p in passes]))
            layer["backward_s"].append(median([p["backward"][i] for p in passes]))
        out["step_s"].append(median(times))
        updates += update
        memory += [peak] if peak is not None else []
        out["jitter"] = statistics.pstdev(times) / statistics.mean(times)
        out["input_bytes"] = nbytes(inputs) / batch
        out["output_bytes"] = passes[-1]["output"] / batch
        describe_params(out, module, passes[-1])
    out["optimizer_s"] = median(updates)
    out["buffer_bytes"] = nbytes(list(module.buffers()))
    out["optimizer_bytes"] = state_bytes(stand.optimizer)
    if memory:
        out["memory_bytes"] = memory
    return out


def save(made, path):
    pathlib.Path(path).write_text(json.dumps(made, indent=1) + "\n")


def load_callable(text):
    """"package.module:name" or "file.py:name"."""
    where, _, name = text.partition(":")
    if not name:
        raise SystemExit(f"lockstep_profile: '{text}' is not MODULE:CALLABLE, e.g. torchvision.models:resnet18")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(pathlib.Path(where).stem, where)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    return getattr(module, name)


def main():
    parser = argparse.ArgumentParser(description="Measure a PyTorch module and write profile.json.")
    parser.add_argument("model", help="MODULE:CALLABLE or FILE.py:CALLABLE that gives the module")
    parser.add_argument("--shape", required=True, help="of one sample, without the batch: 3,224,224")
    parser.add_argument("--tokens", type=int, default=0, help="inputs are integers below this")
    parser.add_argument("--batches", default="8,32", help="sizes to time, two or more")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--steps", type=int, default=24, help="timed at each batch size")
    parser.add_argument("--input-rate", type=float, default=0, help="samples a second your loader delivers")
    parser.add_argument("--out", default="profile.json")
    asked = parser.parse_args()
    shape = [int(n) for n in asked.shape.split(",")]

    def make_input(batch):
        if asked.tokens:
            return torch.randint(asked.tokens, (batch, *shape))
        return torch.randn(batch, *shape)

    made = profile(load_callable(asked.model)(), make_input, [int(b) for b in asked.batches.split(",")],
                   device=asked.device, precision=asked.precision, steps=asked.steps,
                   optimizer=torch.optim.Adam if asked.optimizer == "adam" else None,
                   input_samples_per_s=asked.input_rate, name=asked.model.partition(":")[2])
    save(made, asked.out)
    print(f"{asked.out}: {len(made['layers'])} layers, steps of "
          + ", ".join(f"{s * 1e3:.2f} ms at batch {b}" for b, s in zip(made["batches"], made["step_s"])),
          file=sys.stderr)


if __name__ == "__main__":
    main()
