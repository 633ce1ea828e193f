# SPDX-License-Identifier: Apache-2.0
"""What bench/learn_torch.py trains on, as Lockstep reads it: the training and the held-back
part, each (inputs, labels) on the GPU, and how a batch is changed and normalised."""
import pathlib
import wave

import torch

CLIP = 12000  # samples of a clip


def identity(inputs):
    return inputs


def cifar10_part(folder, names):
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


class Cifar10:
    def __init__(self, root, settings):
        folder = root / "cifar10/cifar-10-batches-bin"
        self.train = cifar10_part(folder, [f"data_batch_{i}" for i in range(1, 6)])
        self.held_back = cifar10_part(folder, ["test_batch"])
        self.pad = settings["crop_pad_px"]
        self.mean, self.std = (torch.tensor(settings[k], device="cuda").view(3, 1, 1)
                               for k in ("mean", "std"))

    def change(self, images):
        return augmented(images, self.pad)

    def normalise(self, images):
        return (images - self.mean) / self.std


def clip(path):
    with wave.open(str(path)) as file:
        assert file.getsampwidth() == 2 and file.getnchannels() == 1, path
        sound = torch.frombuffer(bytearray(file.readframes(CLIP)), dtype=torch.int16).float()
    sound = sound / sound.abs().max().clamp(min=1)
    return torch.nn.functional.pad(sound, (0, CLIP - len(sound)))


class Digits:
    """Spoken digits; recordings 0 to 4 of each speaker and digit are held back."""
    change = normalise = staticmethod(identity)

    def __init__(self, root, _):
        parts = {True: [], False: []}
        for path in sorted((root / "fsdd/recordings").glob("*.wav")):
            digit, _, number = path.stem.split("_")
            parts[int(number) < 5].append((clip(path), int(digit)))
        self.train, self.held_back = (
            (torch.stack([sound for sound, _ in parts[held]]).cuda(),
             torch.tensor([digit for _, digit in parts[held]]).cuda()) for held in (False, True))


def image_part(folder):
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms.functional import resize
    images, labels = [], []
    for label, name in enumerate(sorted(f for f in folder.iterdir() if f.is_dir())):
        for path in sorted(name.iterdir()):
            image = decode_image(str(path), ImageReadMode.RGB)
            images.append(resize(image, [224, 224], antialias=True))
            labels.append(label)
    return torch.stack(images).cuda().float() / 255, torch.tensor(labels).cuda()


class Images:
    """A folder of images with train/ and val/, as they are."""
    change = normalise = staticmethod(identity)

    def __init__(self, root, _):
        self.train = image_part(root / "images/train")
        self.held_back = image_part(root / "images/val")


KINDS = {"cifar10": Cifar10, "digits": Digits, "images": Images}


def read(root, settings):
    return KINDS[settings["kind"]](pathlib.Path(root), settings)
