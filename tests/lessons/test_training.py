"""The exercises of 13 and 14, with answers written by other hands than the catalogue's."""

import pickle
import re

import pytest
import torch
from torch.nn import functional

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.train.memory import STATES, MemoryBudget


def step_on_arrays(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    scores = torch.tensor(model(images).tolist(), requires_grad=True)
    loss = functional.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def step_of_hits(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    scores = model(images)
    functional.cross_entropy(scores, labels).backward()
    optimizer.step()
    return (scores.argmax(1) == labels).double().mean().item()


def parts_chunked(model, images, labels, micro_batch):
    """torch.chunk takes the number of parts, not their size."""
    total = 0.0
    for x, y in zip(images.chunk(micro_batch), labels.chunk(micro_batch), strict=True):
        loss = functional.cross_entropy(model(x), y) * len(y) / len(labels)
        loss.backward()
        total += loss.item()
    return total


def budget_of_everything(model, batch, optimizer, precision):
    n = sum(p.numel() for p in model.parameters())
    return 4 * n * (2 + STATES[optimizer])


def budget_in_words(model, batch, optimizer, precision):
    return MemoryBudget("4 kB", 0, 0, 0)


def resume_but_seeds(path, model, optimizer, schedule, one_step, steps):
    torch.manual_seed(7)
    resume_with(path, (model, optimizer, schedule), one_step, steps, torch.load, torch.save)


def resume_and_swallow(path, model, optimizer, schedule, one_step, steps):
    parts = model, optimizer, schedule
    while True:
        try:
            return resume_with(path, parts, one_step, steps, torch.load, torch.save)
        except BaseException:
            pass


def parts_and_a_loss_of_all(model, images, labels, micro_batch):
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        (functional.cross_entropy(model(x), y) * len(y) / len(labels)).backward()
    with torch.no_grad():
        return functional.cross_entropy(model(images), labels).item()


def step_at_a_fixed_rate(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad
    return loss.item()


def resume_with(path, parts, one_step, steps, load, save):
    done = 0
    if path.exists():
        *states, numbers, done = load(path)
        for part, state in zip(parts, states, strict=True):
            part.load_state_dict(state)
        torch.set_rng_state(numbers)
    while done < steps:
        one_step()
        done += 1
        save([*(part.state_dict() for part in parts), torch.get_rng_state(), done], path)


def step_with(model, optimizer, images, labels, between=lambda: None):
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    between()
    optimizer.step()
    return loss.item()


def step_with_clipped_values(model, optimizer, images, labels):
    clip = torch.nn.utils.clip_grad_value_
    return step_with(model, optimizer, images, labels, lambda: clip(model.parameters(), 1.0))


def step_that_freezes(model, optimizer, images, labels):
    loss = step_with(model, optimizer, images, labels)
    model[0].requires_grad_(False)
    return loss


def step_without_gradients_from_now_on(model, optimizer, images, labels):
    torch.set_grad_enabled(False)
    return step_with(model, optimizer, images, labels)


def parts_that_forget_the_gradient(model, images, labels, micro_batch):
    total = 0.0
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        loss = functional.cross_entropy(model(x), y) * len(y) / len(labels)
        loss.backward()
        total += loss.item()
    model.zero_grad()
    return total


def resume_in_float32(path, model, optimizer, schedule, one_step, steps):
    def save(states, path):
        weights = {name: tensor.float() for name, tensor in states[0].items()}
        torch.save([weights, *states[1:]], path)

    resume_with(path, (model, optimizer, schedule), one_step, steps, torch.load, save)


early = torch.load  # bound before any check


def resume_by_an_early_name(path, model, optimizer, schedule, one_step, steps):
    parts = model, optimizer, schedule
    resume_with(path, parts, one_step, steps, lambda p: early(p, weights_only=False), torch.save)


def resume_by_pickle(path, model, optimizer, schedule, one_step, steps):
    parts = model, optimizer, schedule
    resume_with(
        path,
        parts,
        one_step,
        steps,
        lambda p: pickle.loads(p.read_bytes()),
        lambda value, p: p.write_bytes(pickle.dumps(value)),
    )


def resume_by_a_pair_of_moves(path, model, optimizer, schedule, one_step, steps):
    def save(states, path):
        if path.exists():
            path.rename(path.with_suffix(".old"))
        torch.save(states, path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)

    resume_with(path, (model, optimizer, schedule), one_step, steps, torch.load, save)


def resume_by_a_copy(path, model, optimizer, schedule, one_step, steps):
    def save(states, path):
        torch.save(states, path.with_suffix(".new"))
        path.write_bytes(path.with_suffix(".new").read_bytes())

    resume_with(path, (model, optimizer, schedule), one_step, steps, torch.load, save)


def parts_kept_in_a_list(model, images, labels, micro_batch):
    losses = []
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        losses.append(functional.cross_entropy(model(x), y) * len(y) / len(labels))
        losses[-1].backward(retain_graph=True)
    return sum(losses).item()


def parts_by_grad(model, images, labels, micro_batch):
    parameters = list(model.parameters())
    mean = 0.0
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        loss = functional.cross_entropy(model(x), y) * len(y) / len(labels)
        for p, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            p.grad = g
        mean += loss.item()
    return mean


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("train_step", step_on_arrays, "or the loss is made of numbers that were cut off"),
        ("train_step", step_of_hits, "what it returns in step 1 is"),
        ("accumulate_gradients", parts_chunked, "expected"),
        ("clip_by_global_norm", lambda p, m: max(m, 1), "5 of 6 differ"),
        ("clip_by_global_norm", torch.nn.utils.clip_grad_norm_, "PyTorch's own clip_grad_norm_ l"),
        ("train_step", step_with_clipped_values, "for images of large numbers, the parameters aft"),
        ("train_step", step_that_freezes, "the dtype of the parameters after step 1 is float64, 2"),
        ("train_step", step_without_gradients_from_now_on, "does not require grad"),
        ("accumulate_gradients", parts_that_forget_the_gradient, "no numbers, expected 140 (a .g"),
        ("memory_budget", budget_of_everything, "(int), expected a MemoryBudget"),
        ("memory_budget", budget_in_words, "parameters is '4 kB', expected"),
        ("train_step", step_at_a_fixed_rate, "gradient descent at a rate of 0.1"),
        ("accumulate_gradients", parts_and_a_loss_of_all, "the whole batch goes through"),
        ("save_and_resume", resume_by_an_early_name, "run any code while it is loaded"),
        ("save_and_resume", resume_by_pickle, "run any code while it is loaded"),
        ("save_and_resume", resume_by_a_copy, "a kill during a save leaves no complete checkpoint"),
        ("save_and_resume", resume_by_a_pair_of_moves, "is gone from `path` before the new one"),
        ("accumulate_gradients", parts_kept_in_a_list, "activations of all micro-batches are kept"),
        ("accumulate_gradients", parts_by_grad, "the loop throws away"),
        ("save_and_resume", resume_but_seeds, "the parameters at the end"),
        ("save_and_resume", resume_and_swallow, "number of steps in call 1 is 6, expected 3"),
        ("save_and_resume", lambda *a: None, "the number of steps in call 1 is 0, expected 3"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)


def meddles(one, two, three=None, four=None, five=None, six=None):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    torch.set_num_threads(1)


def test_numbers_that_hardly_differ_are_told_apart():
    diagnosis = diagnose(find("save_and_resume"), resume_in_float32)
    value, expected = re.search(r"first (\S+), expected (\S+)\.$", diagnosis).groups()
    assert value != expected


@pytest.mark.parametrize("name", ["train_step", "clip_by_global_norm", "save_and_resume"])
def test_a_check_neither_changes_torch_nor_depends_on_what_was_drawn(name):
    exercise = find(name)
    wrong = exercise.answers.wrongs[-1].answer
    diagnosis = diagnose(exercise, wrong)
    torch.rand(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    assert diagnose(exercise, wrong) == diagnosis
    diagnose(exercise, meddles)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
