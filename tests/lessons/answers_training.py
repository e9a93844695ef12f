"""Answers to the exercises of notebook 13 by another hand than the catalogue's."""

import math

import torch
from torch.nn import functional


def epochs_with_modes_switched_inside(model, optimizer, batches, held_out, epochs):
    pairs = []
    for _ in range(epochs):
        losses = torch.zeros(0, dtype=torch.float64)
        for images, labels in batches:
            model.train()
            each = functional.cross_entropy(model(images), labels, reduction="none")
            optimizer.zero_grad()
            each.mean().backward()
            optimizer.step()
            losses = torch.cat([losses, each.detach()])
        with torch.no_grad():
            hits = [
                (model.eval()(images).argmax(1) == labels).double() for images, labels in held_out
            ]
        pairs.append((losses.mean().item(), torch.cat(hits).mean().item()))
    return pairs


def epochs_that_clear_once(model, optimizer, batches, held_out, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        total = seen = 0
        for images, labels in batches:
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            seen += len(labels)
        history.append((total / seen, accuracy(model, held_out)))
    return history


def epochs_without_the_last_batch(model, optimizer, batches, held_out, epochs):
    return epochs_with_modes_switched_inside(model, optimizer, batches[:-1], held_out, epochs)


def accuracy(model, held_out):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in held_out)
    return right / sum(len(y) for _, y in held_out)


def clip_flat_ones_only(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = float(torch.cat(grads).norm())
    if max_norm < norm < math.inf:
        for g in grads:
            g *= max_norm / norm
    return norm


def clip_by_views(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = float(torch.cat([g.view(-1) for g in grads]).norm())
    if max_norm < norm < math.inf:
        for g in grads:
            g *= max_norm / norm
    return norm


def stop_with_a_margin(losses, patience):
    best, kept, done = math.inf, 0, 0
    for loss in losses:
        done += 1
        if loss < best - 0.01:
            best, kept = loss, done
        elif done - kept >= patience:
            break
    return kept, done


def stop_only_after_a_best(losses, patience):
    best, kept, done = math.inf, 0, 0
    for loss in losses:
        done += 1
        if loss < best:
            best, kept = loss, done
        elif kept and done - kept >= patience:
            break
    return kept, done


def stop_by_the_last_few(losses, patience):
    seen = []
    for loss in losses:
        seen.append(loss)
        if len(seen) > patience and min(seen[-patience:]) > min(seen[:-patience]):
            break
    return seen.index(min(seen)) + 1, len(seen)


def resume_with_a_counted_schedule(path, model, optimizer, schedule, one_step, steps):
    done = 0
    if path.exists():
        weights, state, numbers, done = torch.load(path)
        model.load_state_dict(weights)
        optimizer.load_state_dict(state)
        schedule.last_epoch = done
        torch.set_rng_state(numbers)
    while done < steps:
        one_step()
        done += 1
        beside = path.with_suffix(".new")
        saved = model.state_dict(), optimizer.state_dict(), torch.get_rng_state(), done
        torch.save(saved, beside)
        beside.replace(path)


def stop_above_zero(losses, patience):
    best, kept, trained = math.inf, 0, 0
    for loss in losses:
        trained += 1
        if 0 <= loss < best:
            best, kept = loss, trained
        elif trained - kept == patience:
            break
    return kept, trained


def stop_after_the_first(losses, patience):
    stream = iter(losses)
    best, kept, trained = next(stream), 1, 1
    best, kept = (best, 1) if math.isfinite(best) else (math.inf, 0)
    while trained - kept < patience and (loss := next(stream, None)) is not None:
        trained += 1
        if math.isfinite(loss) and loss < best:
            best, kept = loss, trained
    return kept, trained


def step_without_backward(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(images), labels)
    optimizer.step()
    return loss.item()


def step_that_clears_one_group(model, optimizer, images, labels):
    model.train()
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = None
    loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def clip_copies(parameters, max_norm):
    known = [p.grad for p in parameters if p.grad is not None]
    norm = float(torch.stack([g.norm() for g in known]).norm())
    if max_norm < norm < math.inf:
        for gradient in known:
            gradient.flatten().mul_(max_norm / norm)
    return norm


WRONG = [
    (
        "stop_early",
        stop_above_zero,
        "for losses below zero, the number of epochs that it trains is 2",
    ),
    ("stop_early", stop_after_the_first, "for no epochs at all, it raises StopIteration"),
    ("train_step", step_without_backward, "step finds no gradient: backward is missing, or"),
    ("train_step", step_that_clears_one_group, "only the optimizer's first group of param"),
    ("clip_by_global_norm", clip_copies, "reshape(-1) and flatten() copy: scale the gradient its"),
    ("train_epochs", epochs_that_clear_once, "the parameters at the end"),
    ("train_epochs", epochs_without_the_last_batch, "how many training images go through"),
    ("clip_by_global_norm", clip_flat_ones_only, "for gradients of 4, 2, 0 and 1 axes"),
    ("clip_by_global_norm", clip_by_views, "view(-1) needs contiguous memory"),
    ("stop_early", stop_with_a_margin, "for bests by a hair"),
    ("stop_early", stop_only_after_a_best, "for losses that are not finite"),
    ("stop_early", stop_by_the_last_few, "for a loss that equals the best one"),
    ("save_and_resume", resume_with_a_counted_schedule, "for a run of 6 steps with restarts"),
]
