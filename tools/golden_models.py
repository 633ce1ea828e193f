# SPDX-License-Identifier: Apache-2.0
"""Golden values of the built-in models, from PyTorch, torchvision and Hugging Face.

    python tools/golden_models.py > tests/model/golden/models.json

Needs torch 2.11, torchvision 0.26 and transformers 5 (for gpt alone; nothing else here does).
Every number of a model comes from a formula that tests/model/golden_test.cpp repeats:
    u(i, k) = ((i * 1103515245 + k * 12345) mod 2^31) / 2^30 - 1          in [-1, 1)
    parameter k (in the order of named_parameters), element i:
        sqrt(6 / fan_in) * u(i, k)   two dimensions and more, fan_in = numel / shape[0]
        1 + 0.2 * u(i, k)            one dimension, the name ends with "weight"
        0.1 * u(i, k)                one dimension, any other
    inputs: u(i, 1000), or tokens (i * 7919 + 13) mod vocab; targets: class (3 b + 1) mod classes,
    or the tokens moved by one.
"""
import json
import math
import sys

import torch
import torchvision
from torch import nn


def u(shape, k):
    i = torch.arange(math.prod(shape), dtype=torch.int64)
    return (((i * 1103515245 + k * 12345) % 2**31).double() / 2**30 - 1).float().view(shape)


def fill(model):
    for k, (name, p) in enumerate(model.named_parameters()):
        if p.dim() >= 2:
            value = math.sqrt(6 / (p.numel() // p.shape[0])) * u(p.shape, k)
        elif name.endswith("weight"):
            value = 1 + 0.2 * u(p.shape, k)
        else:
            value = 0.1 * u(p.shape, k)
        p.data.copy_(value)


class Linear(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(12000, 1000), nn.Linear(1000, 100)
        self.fc3, self.fc4 = nn.Linear(100, 10), nn.Linear(10, classes)

    def forward(self, x):
        x = torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1)))))
        return self.fc4(torch.sigmoid(self.fc3(x)))


class Conv1d(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 50, 200, padding=100)
        self.conv2 = nn.Conv1d(50, 30, 100, padding=50)
        self.conv3 = nn.Conv1d(30, 10, 50, padding=25)
        self.fc1, self.fc2 = nn.Linear(2000, 100), nn.Linear(100, classes)

    def forward(self, x):
        for conv, pool in ((self.conv1, 4), (self.conv2, 3), (self.conv3, 5)):
            x = nn.functional.max_pool1d(torch.relu(conv(x)), pool)
        return self.fc2(torch.sigmoid(self.fc1(x.flatten(1))))


class Variable(nn.Module):
    """Sizes by search, not by the formula of lockstep/plan/variable_size.cpp."""

    def __init__(self, classes, layers, params, flops):
        super().__init__()
        fits = [w for w in range(1, 2000)
                if layers * w * w + w * classes + classes <= params
                and 2 * (layers * w * w + w * classes) <= flops]
        self.w = w = max(fits)
        self.positions = (flops // 2 - w * classes) // (layers * w * w)
        left = flops // 2 - w * classes - self.positions * layers * w * w
        self.extra = min(range(layers * w + 1), key=lambda rows: abs(left - rows * w))
        ballast = params - layers * w * w - w * classes - classes
        self.blocks = nn.ModuleList()
        for i in range(layers):
            block = nn.Module()
            block.weight = nn.Parameter(torch.empty(w, w))
            part = ballast // layers + (1 if i < ballast % layers else 0)
            if part:
                block.ballast = nn.Parameter(torch.zeros(part))
            self.blocks.append(block)
        self.head = nn.Linear(w, classes)

    def forward(self, x):
        x = nn.functional.adaptive_max_pool1d(x, self.positions * self.w)
        x = x.view(len(x), self.positions, self.w)
        for block in self.blocks:
            shift = block.ballast.mean() if hasattr(block, "ballast") else 0
            x = torch.relu(x @ block.weight.t() + shift)
        x, rows, last = x.mean(1), self.extra, self.blocks[-1].weight
        while rows >= self.w:
            x, rows = torch.relu(x @ last.t()), rows - self.w
        return self.head(torch.cat([x @ last[:rows].t(), x[:, rows:]], 1))


def resnet18_cifar(classes):
    model = torchvision.models.resnet18(num_classes=classes)
    model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = nn.Identity()
    return model


def vit(classes, image, patch, width, layers, heads):
    return torchvision.models.VisionTransformer(image, patch, layers, heads, width, 4 * width,
                                                num_classes=classes)


class Gpt(nn.Module):
    def __init__(self, vocab, context, layers, heads, width):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.inner = GPT2LMHeadModel(GPT2Config(
            vocab_size=vocab, n_positions=context, n_layer=layers, n_head=heads, n_embd=width,
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="eager"))

    def named_parameters(self):
        return self.inner.named_parameters()

    def forward(self, x):
        return self.inner(x).logits


class Shift(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x + 8 * self.bias[:, None, None]


class Quick(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem, width = nn.Conv2d(3, 24, 2), 24
        for i, out in enumerate((64, 256, 256), 1):
            group = nn.Module()
            for k in (1, 2):
                setattr(group, f"conv{k}", nn.Conv2d(width, out, 3, padding=1, bias=False))
                setattr(group, f"norm{k}", nn.BatchNorm2d(out, momentum=0.4, affine=False))
                setattr(group, f"shift{k}", Shift(out))
                width = out
            setattr(self, f"group{i}", group)
        self.fc = nn.Linear(256, classes, bias=False)

    def forward(self, x):
        act, pool = nn.functional.gelu, nn.functional.max_pool2d
        x = act(self.stem(x))
        for g in (self.group1, self.group2, self.group3):
            x = act(g.shift1(g.norm1(pool(g.conv1(x), 2))))
            x = act(g.shift2(g.norm2(g.conv2(x))))
        return self.fc(pool(x, 3).flatten(1)) / 9


def cases():
    """Settings, model, shape of the inputs, in training mode?, does it draw weights as ours does?"""
    images = torchvision.models
    yield {"kind": "linear", "classes": 10}, lambda: Linear(10), (4, 1, 12000), True, True
    yield {"kind": "conv1d", "classes": 10}, lambda: Conv1d(10), (2, 1, 12000), True, True
    sizes = {"layers": 3, "variable_params": 20011, "variable_flops": 321098}
    yield ({"kind": "variable", "classes": 7, **sizes}, lambda: Variable(7, 3, 20011, 321098),
           (3, 1, 12000), True, False)
    yield ({"kind": "resnet18", "classes": 10}, lambda: resnet18_cifar(10), (4, 3, 32, 32), True,
           False)
    for kind, make in (("resnet18_224", images.resnet18), ("resnet34", images.resnet34),
                       ("resnet50", images.resnet50)):
        yield ({"kind": kind, "classes": 6, "image_px": 96}, lambda m=make: m(num_classes=6),
               (4, 3, 96, 96), True, True)
    yield ({"kind": "mobilenet_v2", "classes": 5, "image_px": 96},
           lambda: images.mobilenet_v2(num_classes=5), (2, 3, 96, 96), False, True)
    yield ({"kind": "vit_tiny", "classes": 10, "image_px": 32, "patch_px": 4},
           lambda: vit(10, 32, 4, 192, 12, 3), (2, 3, 32, 32), True, True)
    yield ({"kind": "vit_b_16", "classes": 10, "image_px": 32},
           lambda: vit(10, 32, 16, 768, 12, 12), (1, 3, 32, 32), True, True)
    gpt = {"vocab": 65, "context": 24, "layers": 2, "heads": 4, "width": 48}
    yield {"kind": "gpt", **gpt}, lambda: Gpt(**gpt), (2, 24), True, False
    yield {"kind": "quick", "classes": 10}, lambda: Quick(10), (8, 3, 32, 32), True, False


def golden(settings, make, shape, train, same_draw):
    torch.manual_seed(3)
    model = make().train(train)
    drawn = [[p.double().norm().item(), p.flatten()[0].item()]
             for _, p in model.named_parameters()] if same_draw else None
    fill(model)
    if settings["kind"] == "gpt":
        tokens = (torch.arange(math.prod(shape) + 1) * 7919 + 13) % settings["vocab"]
        x, y = tokens[:-1].view(shape), tokens[1:].view(shape)
    else:
        x = u(shape, 1000)
        y = (3 * torch.arange(shape[0]) + 1) % settings["classes"]
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, -2), y.flatten(), label_smoothing=0.1)
    loss.backward()
    names, params = zip(*model.named_parameters())
    return {
        "settings": settings, "train": train, "input": shape, "drawn_with_seed_3": drawn,
        "logits": logits.detach().flatten()[:200].tolist(), "loss_smoothing_0.1": loss.item(),
        "names": names, "shapes": [list(p.shape) for p in params],
        "grad_norms": [p.grad.double().norm().item() for p in params],
        "buffers": {n: b.double().norm().item() for n, b in model.named_buffers()
                    if settings["kind"] != "gpt"},
    }


def rounded(value):
    """Nine digits: all that float32 has."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, (list, tuple)) else value


def main():
    torch.set_num_threads(1)
    rows = []
    for case in cases():
        print("#", case[0]["kind"], file=sys.stderr)
        rows.append(json.dumps(rounded(golden(*case)), separators=(",", ":")))
    made = {"torch": torch.__version__, "torchvision": torchvision.__version__,
            "made_by": "tools/golden_models.py"}
    print('{"source":%s,"models":[\n%s\n]}' % (json.dumps(made), ",\n".join(rows)))


if __name__ == "__main__":
    main()
