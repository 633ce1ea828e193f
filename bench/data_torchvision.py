#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchvision's DataLoader on the same images: for each line on stdin one pass.

    data_torchvision.py FOLDER WORKERS BATCH VARIANT

VARIANT: pil (ImageFolder's own loader, rotation by the nearest pixel: its
default), pil_bilinear (rotation as ours), tensor (torchvision.io and v2
transforms on tensors, bilinear).
"""
import json
import pathlib
import sys
import time

import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import InterpolationMode, v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def on_pictures(rotation):
    return transforms.Compose([
        transforms.Resize((224, 224)), transforms.RandomHorizontalFlip(),
        transforms.RandomRotation(15, interpolation=rotation), transforms.ColorJitter(brightness=0.2),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def on_tensors():
    return v2.Compose([
        v2.Resize((224, 224), antialias=True), v2.RandomHorizontalFlip(),
        v2.RandomRotation(15, interpolation=InterpolationMode.BILINEAR), v2.ColorJitter(brightness=0.2),
        v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])


def read(path):
    return torchvision.io.decode_image(path, mode=torchvision.io.ImageReadMode.RGB)


def dataset(folder, variant):
    train = pathlib.Path(folder) / "train"
    if variant == "tensor":
        return torchvision.datasets.ImageFolder(train, on_tensors(), loader=read)
    rotation = {"pil": InterpolationMode.NEAREST, "pil_bilinear": InterpolationMode.BILINEAR}[variant]
    return torchvision.datasets.ImageFolder(train, on_pictures(rotation))


def main():
    folder, workers, batch, variant = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(dataset(folder, variant), batch_size=batch, shuffle=True,
                                         num_workers=workers, persistent_workers=workers > 0)
    for _ in sys.stdin:
        begin, seen = time.perf_counter(), 0
        for inputs, _targets in loader:
            seen += len(inputs)
        print(json.dumps({"images": seen, "seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
