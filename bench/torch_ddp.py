# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of bench/ddp.py: DistributedDataParallel over gloo, one thread
a rank. `torch_ddp.py MODEL GLOBAL_BATCH STEPS [RANKS]` prints the seconds of
each step on rank 0, after five to warm up."""
import json
import os
import socket
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing

from torch_models import MODELS, make_optimizer

WARM_UP = 5


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(rank, ranks, port, name, batch, steps):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(1)
    make, sample = MODELS[name]
    model = torch.nn.parallel.DistributedDataParallel(make(), gradient_as_bucket_view=True)
    optimizer = make_optimizer(name, model.parameters(), fused=True)
    inputs, targets = torch.randn(batch // ranks, *sample), torch.randint(0, 10, (batch // ranks,))
    seconds = []
    for _ in range(steps + WARM_UP):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        print(json.dumps({"step_s": seconds[WARM_UP:], "torch": torch.__version__}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    name, batch, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ranks = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    torch.multiprocessing.spawn(train, (ranks, free_port(), name, batch, steps), ranks)
