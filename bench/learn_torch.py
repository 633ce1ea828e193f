# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/learn.py: a model trained by a recipe of ours.

    python3 bench/learn_torch.py CONFIG ROOT EPOCHS SEED

CONFIG is a run's config.toml: every setting is there. ROOT holds the data. The set lies on
the GPU; what changes images is drawn there. Prints one line of JSON: held-back accuracy and
mean training loss of each epoch.
"""
import contextlib
import json
import math
import pathlib
import sys
import tomllib

import torch

import learn_data
from torch_models import MODELS, convolves_images


def share(epoch, epochs, optim):
    """Of the learning rate."""
    warmup = optim["warmup_epochs"]
    if epoch < warmup:
        return epoch / warmup
    if optim["schedule"] == "constant":
        return 1.0
    assert optim["schedule"] == "cosine", optim["schedule"]
    return 0.5 * (1 + math.cos(math.pi * (epoch - warmup) / (epochs - warmup)))


def groups(model, optim):
    """Decay on all parameters, or not on normalisation and biases."""
    plain = [] if optim["decay_norm_and_bias"] else [p for p in model.parameters() if p.dim() <= 1]
    spared = {id(p) for p in plain}
    decayed = [p for p in model.parameters() if id(p) not in spared]
    return [{"params": decayed, "weight_decay": optim["weight_decay"]},
            {"params": plain, "weight_decay": 0.0}]


def make_optimizer(model, optim):
    if optim["kind"] == "adam":
        return torch.optim.Adam(groups(model, optim), lr=0.0, fused=True,
                                betas=(optim["beta1"], optim["beta2"]), eps=optim["eps"])
    assert optim["kind"] == "sgd", optim["kind"]
    return torch.optim.SGD(groups(model, optim), lr=0.0, momentum=optim["momentum"],
                           nesterov=optim["nesterov"], fused=True)


class Training:
    def __init__(self, config, root):
        name, train, self.optim = config["model"]["kind"], config["train"], config["optim"]
        self.smoothing, self.batch = train["label_smoothing"], config["batch"]["per_rank"]
        self.bf16, self.images = train["precision"] == "bf16", convolves_images(name)
        torch.backends.cuda.matmul.allow_tf32 = train["precision"] == "tf32"
        self.data = learn_data.read(root, config["data"])
        self.model = MODELS[name][0]().cuda()
        if self.images:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.model, self.optim)

    def logits(self, inputs):
        inputs = self.data.normalise(inputs)
        if self.images:
            inputs = inputs.to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16) if self.bf16 else contextlib.nullcontext():
            return self.model(inputs)

    def epoch(self, number, epochs):
        self.model.train()
        inputs, labels = self.data.train
        order = torch.randperm(len(labels), device="cuda").split(self.batch)
        total = torch.zeros((), device="cuda")
        for step, chosen in enumerate(order):
            for group in self.optimizer.param_groups:
                group["lr"] = self.optim["lr"] * share(number + step / len(order), epochs,
                                                       self.optim)
            logits = self.logits(self.data.change(inputs[chosen]))
            loss = torch.nn.functional.cross_entropy(logits.float(), labels[chosen],
                                                     label_smoothing=self.smoothing)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(chosen)
        return total.item() / len(labels)

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        inputs, labels = self.data.held_back
        right = sum((self.logits(some).argmax(1) == of).sum()
                    for some, of in zip(inputs.split(1000), labels.split(1000)))
        return right.item() / len(labels)


def main():
    config, root, epochs, seed = sys.argv[1:]
    torch.manual_seed(int(seed))
    torch.backends.cudnn.benchmark = True
    training = Training(tomllib.loads(pathlib.Path(config).read_text()), root)
    losses, accuracy = [], []
    for number in range(int(epochs)):
        losses.append(training.epoch(number, int(epochs)))
        accuracy.append(training.accuracy())
    print(json.dumps({"train_loss": losses, "val_accuracy": accuracy,
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
