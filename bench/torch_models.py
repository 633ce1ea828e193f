# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of every comparison: the models as PyTorch and torchvision
write them, the shape of one sample of each, and the optimiser a model trains with."""
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


def resnet50():
    return torchvision.models.resnet50()


def vit_b_16():
    return torchvision.models.vit_b_16()


class Gpt(torch.nn.Module):
    """GPT-2 of 124 million parameters, without dropout, its head tied to the embedding."""

    def __init__(self, vocab=50257, context=1024, layers=12, heads=12, width=768):
        super().__init__()
        nn = torch.nn
        self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(GptBlock(heads, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0, 0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return torch.nn.functional.linear(self.norm(x), self.tokens.weight)


class GptBlock(torch.nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        nn = torch.nn
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, tokens, width = x.shape
        q, k, v = (t.view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(x).split(width, dim=2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        wide = torch.nn.functional.gelu(self.widen(self.norm2(x)), approximate="tanh")
        return x + self.narrow(wide)


MODELS = {"linear": (linear, (12000,)), "conv1d": (conv1d, (12000,)),
          "resnet18": (resnet18, (3, 32, 32)), "mobilenet_v2": (mobilenet_v2, (3, 224, 224)),
          "resnet50": (resnet50, (3, 224, 224)), "vit_b_16": (vit_b_16, (3, 224, 224)),
          "gpt": (Gpt, (1024,))}


def convolves_images(name):
    return name in ("resnet18", "resnet50", "mobilenet_v2")


def random_batch(name, batch):
    """Inputs and targets on the GPU: a class for each sample, a token for each token."""
    sample = MODELS[name][1]
    if name == "gpt":
        return tuple(torch.randint(0, 50257, (batch, *sample), device="cuda") for _ in range(2))
    classes = 1000 if name in ("resnet50", "vit_b_16") else 10
    return (torch.randn(batch, *sample, device="cuda"),
            torch.randint(0, classes, (batch,), device="cuda"))


def count_parameters(model):
    return sum(p.numel() for p in model.parameters())


def make_optimizer(name, params, **setting):
    if convolves_images(name):
        return torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4, **setting)
    if name in ("gpt", "vit_b_16"):
        return torch.optim.AdamW(params, lr=3e-4, weight_decay=0.1, **setting)
    return torch.optim.Adam(params, lr=1e-3, **setting)
