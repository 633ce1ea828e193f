#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/optim/optim_golden.json: what torch.optim does, step by step.

A module with weight [3, 4] and bias [3]; element i starts at sin(i + 1) and its
gradient at step t is cos(0.7 i + 0.3 t) / 2, so the C++ test can make the same.
Needs PyTorch: python tools/make_optim_golden.py
"""
import json
import math
import pathlib

import torch

STEPS = 6

# Names and meaning of the settings are those of the recipe's [optim] section;
# clip_norm is [train]'s.
CASES = [
    dict(name="sgd", kind="sgd", lr=0.1),
    dict(name="sgd_decay", kind="sgd", lr=0.1, weight_decay=0.05),
    dict(name="sgd_momentum", kind="sgd", lr=0.1, momentum=0.9),
    dict(name="sgd_nesterov_decay", kind="sgd", lr=0.1, momentum=0.9,
         nesterov=True, weight_decay=0.01),
    dict(name="sgd_no_decay_on_bias", kind="sgd", lr=0.1, momentum=0.9,
         weight_decay=0.1, decay_norm_and_bias=False),
    dict(name="sgd_clipped", kind="sgd", lr=0.1, momentum=0.9, clip_norm=0.25),
    dict(name="adam", kind="adam", lr=0.01),
    dict(name="adam_decay_betas", kind="adam", lr=0.01, beta1=0.8, beta2=0.95,
         eps=1e-6, weight_decay=0.1),
    dict(name="adam_no_decay_on_bias", kind="adam", lr=0.01, weight_decay=0.1,
         decay_norm_and_bias=False),
    dict(name="adamw", kind="adamw", lr=0.01, weight_decay=0.1),
    dict(name="adamw_clipped_no_decay_on_bias", kind="adamw", lr=0.01,
         weight_decay=0.1, decay_norm_and_bias=False, clip_norm=0.25),
]


def make_optimizer(case, weight, bias):
    decay = case.get("weight_decay", 0.0)
    on_bias = decay if case.get("decay_norm_and_bias", True) else 0.0
    groups = [dict(params=[weight], weight_decay=decay),
              dict(params=[bias], weight_decay=on_bias)]
    if case["kind"] == "sgd":
        return torch.optim.SGD(groups, lr=case["lr"],
                               momentum=case.get("momentum", 0.0),
                               nesterov=case.get("nesterov", False))
    rule = torch.optim.Adam if case["kind"] == "adam" else torch.optim.AdamW
    return rule(groups, lr=case["lr"], eps=case.get("eps", 1e-8),
                betas=(case.get("beta1", 0.9), case.get("beta2", 0.999)))


def run(case):
    start = torch.tensor([math.sin(i + 1) for i in range(15)])
    weight = torch.nn.Parameter(start[:12].reshape(3, 4).clone())
    bias = torch.nn.Parameter(start[12:].clone())
    optimizer = make_optimizer(case, weight, bias)
    after = []
    for t in range(STEPS):
        grad = torch.tensor([math.cos(0.7 * i + 0.3 * t) / 2 for i in range(15)])
        weight.grad, bias.grad = grad[:12].reshape(3, 4).clone(), grad[12:].clone()
        if "clip_norm" in case:
            torch.nn.utils.clip_grad_norm_([weight, bias], case["clip_norm"])
        optimizer.step()
        after.append(weight.flatten().tolist() + bias.tolist())
    return {**case, "after": after}


def main():
    target = pathlib.Path(__file__).parent.parent / "tests/optim/optim_golden.json"
    cases = ",\n".join(json.dumps(run(case)) for case in CASES)
    target.write_text(f'{{"torch": "{torch.__version__}", "cases": [\n{cases}\n]}}\n')
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
