"""Answers to the exercises of notebook 14 by another hand than the catalogue's."""

import torch
from torch import nn

from gpulearn.train.activation_memory import saved_for_backward
from gpulearn.train.memory import STATES
from gpulearn.train.recompute import recompute_peak


def budget_by_modules(model, batch, optimizer, precision):
    own = {p: None for module in model.modules() for p in module.parameters(recurse=False)}
    trained = sum(p.nbytes for p in own if p.requires_grad)
    kept = [
        saved.elements * saved.dtype.itemsize
        for saved in saved_for_backward(model, batch, precision)
    ]
    return [sum(p.nbytes for p in own), trained, STATES[optimizer] * trained, sum(kept)]


def budget_of_different_tensors(model, batch, optimizer, precision):
    *three, _ = budget_by_modules(model, batch, optimizer, precision)
    kept = {*saved_for_backward(model, batch, precision)}
    return [*three, sum(saved.elements * saved.dtype.itemsize for saved in kept)]


def peak_without_inputs_of_plain_stages(inputs, inside, recomputed):
    kept = [inputs[s] if s in recomputed else inside[s] for s in range(len(inputs))]
    return max([sum(kept), *(sum(kept[:s]) + inputs[s] + inside[s] for s in recomputed)])


def plan_by_bytes_a_second(inputs, inside, seconds, limit):
    plan = []
    rest = sorted(range(len(inputs) - 1), key=lambda s: seconds[s] / inside[s])
    while recompute_peak(inputs, inside, plan) > limit:
        if not rest:
            return None
        plan.append(rest.pop(0))
    return plan


def scale_with_the_limit_scaled(model, optimizer, images, labels, scale, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        loss = nn.CrossEntropyLoss()(model(images), labels)
    (loss * scale).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm * scale)
    if not norm.isfinite():
        return scale / 2
    optimizer.step()
    return scale


def peak_that_empties_its_set(inputs, inside, recomputed):
    moments = [sum(inputs) + sum(b for s, b in enumerate(inside) if s not in recomputed)]
    while recomputed:
        s = max(recomputed)
        recomputed.remove(s)
        earlier = sum(b for t, b in enumerate(inside[:s]) if t not in recomputed)
        moments.append(sum(inputs[: s + 1]) + earlier + inside[s])
    return max(moments)


def scale_that_looks_at_the_loss(model, optimizer, images, labels, scale, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        loss = nn.CrossEntropyLoss()(model(images), labels)
    (loss * scale).backward()
    for p in model.parameters():
        p.grad /= scale
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if not loss.isfinite():
        return scale / 2
    optimizer.step()
    return scale


def bottleneck_by_sorting(fetch, copy, compute, workers):
    parts = [(fetch / (workers or 1), "fetch"), (copy, "copy"), (compute, "compute")]
    slowest = sorted(parts)[-1]
    step = slowest[0] if workers else fetch + copy + compute
    return slowest[1], step, compute / step


def bottleneck_for_few_workers(fetch, copy, compute, workers):
    return bottleneck_by_sorting(fetch, copy, compute, min(workers, 4))


WRONG = [
    ("memory_budget", budget_of_different_tensors, "for a ReLU in two places"),
    ("recompute_peak", peak_without_inputs_of_plain_stages, "expected 240"),
    ("recompute_peak", peak_that_empties_its_set, "it changes its input; work on a copy"),
    ("recompute_plan", plan_by_bytes_a_second, "the extra time"),
    ("scale_the_loss", scale_with_the_limit_scaled, "the parameters after the step"),
    ("scale_the_loss", scale_that_looks_at_the_loss, "first nan"),
    ("find_the_bottleneck", bottleneck_for_few_workers, "twelve workers"),
]
