"""The exercises of 13 and 14, with answers written by other hands than the catalogue's."""

import math
import pickle
import re

import pytest
import torch
from torch.nn import functional

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.train.memory import STATES, MemoryBudget


def step_with_float_labels(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(images), labels.float())
    loss.backward()
    optimizer.step()
    return loss.item()


def step_on_arrays(model, optimizer, images, labels):
    model.train()
    optimizer.zero_grad()
    scores = torch.tensor(model(images).tolist(), requires_grad=True)
    loss = functional.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def step_without_gradients(model, optimizer, images, labels):
    model.train()
    with torch.no_grad():
        loss = functional.cross_entropy(model(images), labels)
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


def step_in_a_closure(model, optimizer, images, labels):
    model.train()

    def closure():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        return loss

    return optimizer.step(closure).item()


def parts_as_a_stack(model, images, labels, micro_batch):
    losses = []
    for i in range(0, len(images), micro_batch):
        x, y = images[i : i + micro_batch], labels[i : i + micro_batch]
        losses.append(functional.cross_entropy(model(x), y))
    loss = torch.stack(losses).mean()
    loss.backward()
    return loss.item()


def parts_with_labels_whole(model, images, labels, micro_batch):
    for x in images.split(micro_batch):
        functional.cross_entropy(model(x), labels).backward()


def parts_with_range(model, images, labels, micro_batch):
    count = len(images) // micro_batch
    for i in range(count):
        x = images[i * micro_batch : (i + 1) * micro_batch]
        y = labels[i * micro_batch : (i + 1) * micro_batch]
        (functional.cross_entropy(model(x), y) / count).backward()


def parts_chunked(model, images, labels, micro_batch):
    """torch.chunk takes the number of parts, not their size."""
    total = 0.0
    for x, y in zip(images.chunk(micro_batch), labels.chunk(micro_batch), strict=True):
        loss = functional.cross_entropy(model(x), y) * len(y) / len(labels)
        loss.backward()
        total += loss.item()
    return total


def clip_of_nothing_kept(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat(grads).norm().item()
    if norm > max_norm:
        grads = [g * max_norm / norm for g in grads]
    return norm


def budget_of_everything(model, batch, optimizer, precision):
    n = sum(p.numel() for p in model.parameters())
    return 4 * n * (2 + STATES[optimizer])


def budget_in_words(model, batch, optimizer, precision):
    return MemoryBudget("4 kB", 0, 0, 0)


def resume_with_whole_model(path, model, optimizer, schedule, one_step, steps):
    done = 0
    if path.exists():
        model, optimizer, schedule, done = pickle.loads(path.read_bytes())
    while done < steps:
        one_step()
        done += 1
        path.write_bytes(pickle.dumps((model, optimizer, schedule, done)))


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


def parts_in_a_generator(model, images, labels, micro_batch):
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        yield loss.item()


def parts_no_larger_than_half(model, images, labels, micro_batch):
    total, size = 0.0, max(1, micro_batch // 2)
    for x, y in zip(images.split(size), labels.split(size), strict=True):
        loss = functional.cross_entropy(model(x), y, reduction="sum") / len(labels)
        loss.backward()
        total += loss.item()
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


kept = {}


def resume_with_random_numbers_in_a_variable(path, model, optimizer, schedule, one_step, steps):
    def save(states, path):
        kept["random"] = states[3]
        torch.save(states, path)

    def load(path):
        states = torch.load(path, weights_only=True)
        return [*states[:3], kept["random"], states[4]]

    resume_with(path, (model, optimizer, schedule), one_step, steps, load, save)


def resume_by_schedule(path, model, optimizer, schedule, one_step, steps):
    parts = [model, optimizer, schedule]
    if path.exists():
        *states, numbers = torch.load(path, weights_only=True)
        for part, state in zip(parts, states, strict=True):
            part.load_state_dict(state)
        torch.set_rng_state(numbers)
    while schedule.last_epoch < steps:
        one_step()
        save_aside([*(part.state_dict() for part in parts), torch.get_rng_state()], path)


def save_aside(states, path):
    torch.save(states, beside := path.parent / "half")
    beside.rename(path)


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


def resume_from_the_one_before(path, model, optimizer, schedule, one_step, steps):
    """Writes over its file, but has a copy of the one before, and reads that if it must."""
    spare = path.with_suffix(".spare")

    def save(states, path):
        if path.exists():
            spare.write_bytes(path.read_bytes())
        torch.save(states, path)

    def load(path):
        try:
            return torch.load(path)
        except Exception:
            return torch.load(spare)

    resume_with(path, (model, optimizer, schedule), one_step, steps, load, save)


def clip_by_one_axis(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = sum(sum(x * x for x in g) for g in grads) ** 0.5
    if max_norm < norm < math.inf:
        for g in grads:
            g *= max_norm / norm
    return float(norm)


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


def resume_from_the_very_start(path, model, optimizer, schedule, one_step, steps):
    """Saves before the first step too: a run killed in that one goes on from the same start."""
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}

    def save(done):
        states = {name: part.state_dict() for name, part in parts.items()}
        save_aside({**states, "done": done, "random": torch.get_rng_state()}, path)

    if not path.exists():
        save(0)
    saved = torch.load(path, weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(saved[name])
    torch.set_rng_state(saved["random"])
    for done in range(saved["done"], steps):
        one_step()
        save(done + 1)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("train_step", step_in_a_closure, None),
        ("accumulate_gradients", parts_no_larger_than_half, None),
        ("save_and_resume", resume_by_schedule, None),
        ("save_and_resume", resume_from_the_one_before, None),
        ("save_and_resume", resume_from_the_very_start, None),
        ("train_step", step_with_float_labels, "it raises RuntimeError in line 4"),
        ("train_step", step_on_arrays, "or the loss is made of numbers that were cut off"),
        ("train_step", step_without_gradients, "does not require grad"),
        ("train_step", step_of_hits, "what it returns in step 1 is"),
        ("train_step", lambda m, o, x, y: 1.0, "what it returns in step 1 is 1, expected"),
        ("accumulate_gradients", parts_as_a_stack, "expected"),
        ("accumulate_gradients", parts_with_labels_whole, "it raises ValueError in line 3"),
        ("accumulate_gradients", parts_with_range, "expected"),
        ("accumulate_gradients", parts_chunked, "expected"),
        ("clip_by_global_norm", clip_of_nothing_kept, "no gradient has changed"),
        ("clip_by_global_norm", lambda p, m: max(m, 1), "5 of 6 differ"),
        ("clip_by_global_norm", torch.nn.utils.clip_grad_norm_, "torch's own clip_grad_norm_ los"),
        ("train_step", step_with_clipped_values, "for images of large numbers, the parameters aft"),
        ("train_step", step_that_freezes, "the dtype of the parameters after step 1 is float64, 2"),
        ("train_step", step_without_gradients_from_now_on, "does not require grad"),
        ("accumulate_gradients", parts_that_forget_the_gradient, "no numbers, expected 140 (a .g"),
        ("accumulate_gradients", parts_in_a_generator, "with yield in it, a call runs nothing"),
        ("memory_budget", budget_of_everything, "(int), expected a MemoryBudget"),
        ("memory_budget", budget_in_words, "parameters is '4 kB', expected"),
        ("train_step", step_at_a_fixed_rate, "gradient descent at a rate of 0.1"),
        ("accumulate_gradients", parts_and_a_loss_of_all, "the whole batch goes through"),
        ("save_and_resume", resume_by_an_early_name, "run any code while it is loaded"),
        ("save_and_resume", resume_by_pickle, "run any code while it is loaded"),
        ("save_and_resume", resume_with_random_numbers_in_a_variable, "is kept in a variable, w"),
        ("save_and_resume", resume_with_whole_model, "expected"),
        ("save_and_resume", resume_by_a_copy, "a kill that comes while it saves leaves no whole"),
        ("save_and_resume", resume_by_a_pair_of_moves, "is taken from its place before the next"),
        ("clip_by_global_norm", clip_by_one_axis, "gradients of 4, 2, 0 and 1 axes"),
        (
            "accumulate_gradients",
            parts_kept_in_a_list,
            "the activations of all parts are kept to the end",
        ),
        ("accumulate_gradients", parts_by_grad, "the loop throws away"),
        ("save_and_resume", resume_but_seeds, "the parameters at the end"),
        ("save_and_resume", resume_and_swallow, "number of steps in call 1 is 6, expected 3"),
        ("save_and_resume", lambda *a: None, "the number of steps in call 1 is 0, expected 3"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis


def meddles(one, two, three=None, four=None, five=None, six=None):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    torch.set_num_threads(1)


def test_numbers_that_hardly_differ_are_told_apart():
    said = diagnose(find("save_and_resume"), resume_in_float32)
    found, wanted = re.search(r"first (\S+), expected (\S+)\.$", said).groups()
    assert found != wanted


NAMES = (
    "train_step",
    "accumulate_gradients",
    "clip_by_global_norm",
    "memory_budget",
    "save_and_resume",
    "train_epochs",
    "scale_the_loss",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_check_leaves_torch_as_it_was(name):
    exercise = find(name)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    for answer in (exercise.reference, exercise.answers.wrongs[0].answer, meddles):
        diagnose(exercise, answer)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_answer_is_told_the_same_whatever_was_drawn_before(name):
    exercise = find(name)
    answer = exercise.answers.wrongs[-1].answer
    torch.manual_seed(1)
    one = diagnose(exercise, answer)
    torch.rand(5)
    assert diagnose(exercise, answer) == one
