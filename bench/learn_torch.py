# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/learn.py: ResNet-18 on CIFAR-10 by a recipe of ours.

    python3 bench/learn_torch.py RECIPE FOLDER EPOCHS SEED

FOLDER holds CIFAR-10's .bin files. The set lies on the GPU; crops and flips are drawn
there. Prints one line of JSON: test accuracy and mean training loss of each epoch.
"""
import json
import math
import pathlib
import sys
import tomllib

import torch

from torch_models import resnet18


def read(folder, names):
    raw = b"".join((folder / f"{name}.bin").read_bytes() for name in names)
    rows = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 3073)
    return (rows[:, 1:].view(-1, 3, 32, 32).cuda().float() / 255, rows[:, 0].long().cuda())


def augmented(images, pad):
    """A random window of the padded image, mirrored half of the time."""
    count = len(images)
    padded = torch.nn.functional.pad(images, [pad] * 4)
    shift = torch.randint(0, 2 * pad + 1, (2, count, 1), device="cuda")
    line = torch.arange(32, device="cuda")
    y, x = line + shift[0], line + shift[1]
    x = torch.where(torch.rand(count, 1, device="cuda") < 0.5, x.flip(1), x)
    each = torch.arange(count, device="cuda").view(-1, 1, 1)
    return padded.permute(0, 2, 3, 1)[each, y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2)


def share(epoch, epochs, warmup):
    if epoch < warmup:
        return epoch / warmup
    return 0.5 * (1 + math.cos(math.pi * (epoch - warmup) / (epochs - warmup)))


def groups(model, decay):
    """No decay on normalisation and biases."""
    return [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
            {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0}]


class Training:
    def __init__(self, recipe, folder):
        data, self.optim = recipe["data"], recipe["optim"]
        self.smoothing = recipe["train"]["label_smoothing"]
        self.batch, self.pad = recipe["batch"]["per_rank"], data["crop_pad_px"]
        self.mean, self.std = (torch.tensor(data[k], device="cuda").view(3, 1, 1)
                               for k in ("mean", "std"))
        self.train = read(folder, [f"data_batch_{i}" for i in range(1, 6)])
        self.test = read(folder, ["test_batch"])
        self.model = resnet18().cuda().to(memory_format=torch.channels_last)
        self.sgd = torch.optim.SGD(groups(self.model, self.optim["weight_decay"]), lr=0.0,
                                   momentum=self.optim["momentum"],
                                   nesterov=self.optim["nesterov"], fused=True)

    def logits(self, images):
        images = ((images - self.mean) / self.std).to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            return self.model(images)

    def epoch(self, number, epochs):
        self.model.train()
        order = torch.randperm(len(self.train[1]), device="cuda").split(self.batch)
        losses = []
        for step, chosen in enumerate(order):
            rate = self.optim["lr"] * share(number + step / len(order), epochs,
                                            self.optim["warmup_epochs"])
            for group in self.sgd.param_groups:
                group["lr"] = rate
            logits = self.logits(augmented(self.train[0][chosen], self.pad))
            loss = torch.nn.functional.cross_entropy(logits.float(), self.train[1][chosen],
                                                     label_smoothing=self.smoothing)
            self.sgd.zero_grad(set_to_none=True)
            loss.backward()
            self.sgd.step()
            losses.append(loss.detach())
        return torch.stack(losses).mean().item()

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        right = sum((self.logits(images).argmax(1) == labels).sum() for images, labels in
                    zip(self.test[0].split(1000), self.test[1].split(1000)))
        return right.item() / len(self.test[1])


def main():
    recipe, folder, epochs, seed = sys.argv[1:]
    torch.manual_seed(int(seed))
    torch.backends.cudnn.benchmark = True
    training = Training(tomllib.loads(pathlib.Path(recipe).read_text()), pathlib.Path(folder))
    losses, accuracy = [], []
    for number in range(int(epochs)):
        losses.append(training.epoch(number, int(epochs)))
        accuracy.append(training.accuracy())
    print(json.dumps({"train_loss": losses, "val_accuracy": accuracy,
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
