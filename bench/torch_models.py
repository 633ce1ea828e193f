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


MODELS = {"linear": (linear, (12000,)), "conv1d": (conv1d, (12000,)),
          "resnet18": (resnet18, (3, 32, 32)), "mobilenet_v2": (mobilenet_v2, (3, 224, 224))}


def takes_images(name):
    return len(MODELS[name][1]) == 3


def count_parameters(model):
    return sum(p.numel() for p in model.parameters())


def make_optimizer(name, params, **setting):
    if takes_images(name):
        return torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4, **setting)
    return torch.optim.Adam(params, lr=1e-3, **setting)
