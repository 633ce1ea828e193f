#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/optim/optim_golden.json: what torch.optim does, step by step.

LARS and LAMB are not in torch.optim: theirs are the papers' formulas as timm
writes them, in float64 below.

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
    dict(name="lars", kind="lars", lr=20.0, momentum=0.9, weight_decay=1e-4),
    dict(name="lars_no_decay_on_bias", kind="lars", lr=10.0, momentum=0.9,
         weight_decay=0.05, decay_norm_and_bias=False),
    dict(name="lars_no_momentum_coefficient", kind="lars", lr=2.0,
         weight_decay=0.05, trust_coefficient=0.02, eps=1e-3),
    dict(name="lars_nesterov_clipped_trust", kind="lars", lr=0.002,
         momentum=0.9, nesterov=True, trust_clip=True),
    dict(name="lars_clipped_gradient", kind="lars", lr=20.0, momentum=0.9,
         weight_decay=0.05, clip_norm=0.25),
    dict(name="lamb", kind="lamb", lr=0.01, weight_decay=0.01, eps=1e-6),
    dict(name="lamb_betas_no_decay_on_bias", kind="lamb", lr=0.02, beta1=0.8,
         beta2=0.95, weight_decay=0.2, decay_norm_and_bias=False, eps=1e-6),
    dict(name="lamb_clipped", kind="lamb", lr=0.01, weight_decay=0.01,
         eps=1e-6, trust_clip=True, clip_norm=0.25),
]


def norm(x):
    return float(x.norm())


class Lars:
    """v <- mu v + lambda (g + decay w), w <- w - lr v; norms and biases with
    lambda = 1 (You, Gitman, Ginsburg 2017; rate outside as in timm)."""

    def __init__(self, case):
        self.case, self.v = case, {}

    def step(self, name, w, g, decay):
        c = self.case
        trust = 1.0
        if name == "weight" and norm(w) > 0 and norm(g) > 0:
            trust = c.get("trust_coefficient", 0.001) * norm(w) / (
                norm(g) + decay * norm(w) + c.get("eps", 1e-8))
            if c.get("trust_clip"):
                trust = min(trust / c["lr"], 1.0)
        d = trust * (g + decay * w)
        mu = c.get("momentum", 0.0)
        self.v[name] = mu * self.v.get(name, torch.zeros_like(w)) + d
        if mu:
            d = d + mu * self.v[name] if c.get("nesterov") else self.v[name]
        return w - c["lr"] * d


class Lamb:
    """You et al. 2020, with bias correction; norms and biases with trust 1."""

    def __init__(self, case):
        self.case, self.m, self.v, self.t = case, {}, {}, {}

    def step(self, name, w, g, decay):
        c = self.case
        b1, b2 = c.get("beta1", 0.9), c.get("beta2", 0.999)
        t = self.t[name] = self.t.get(name, 0) + 1
        zero = torch.zeros_like(w)
        m = self.m[name] = b1 * self.m.get(name, zero) + (1 - b1) * g
        v = self.v[name] = b2 * self.v.get(name, zero) + (1 - b2) * g * g
        r = (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + c.get("eps", 1e-8))
        u = r + decay * w
        trust = 1.0
        if name == "weight" and norm(w) > 0 and norm(u) > 0:
            trust = norm(w) / norm(u)
            if c.get("trust_clip"):
                trust = min(trust, 1.0)
        return w - c["lr"] * trust * u


def run_formula(case):
    rule = Lars(case) if case["kind"] == "lars" else Lamb(case)
    decay = case.get("weight_decay", 0.0)
    on_bias = decay if case.get("decay_norm_and_bias", True) else 0.0
    w = torch.tensor([math.sin(i + 1) for i in range(15)], dtype=torch.float64)
    after = []
    for t in range(STEPS):
        g = torch.tensor([math.cos(0.7 * i + 0.3 * t) / 2 for i in range(15)],
                         dtype=torch.float64)
        if "clip_norm" in case:
            g = g * min(1.0, case["clip_norm"] / (norm(g) + 1e-6))
        w = torch.cat([rule.step("weight", w[:12], g[:12], decay),
                       rule.step("bias", w[12:], g[12:], on_bias)])
        after.append(w.tolist())
    return {**case, "after": after}


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
    if case["kind"] in ("lars", "lamb"):
        return run_formula(case)
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
