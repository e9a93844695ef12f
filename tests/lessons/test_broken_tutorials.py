"""The cases of notebook 22, with answers written by other hands than the catalogue's."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from gpulearn import check
from gpulearn.errors import NotSolvedYet
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn_lessons.broken_tutorials.mended_loops import case_accumulation, case_schedule
from gpulearn_lessons.training.trial import flat


@pytest.mark.usefixtures("_host_compiler")
def test_the_product_as_it_is_given_is_not_solved():
    given = find("case_launch").answers.given
    with pytest.raises(NotSolvedYet, match="as it was given"):
        check("case_launch", given.text)


@pytest.mark.parametrize("name", ["gpu_loop", "view"])
def test_a_case_as_it_is_given_is_not_solved(name):
    with pytest.raises(NotSolvedYet, match="as it was given"):
        check(f"case_{name}", find(f"case_{name}").answers.given)


@pytest.mark.usefixtures("_host_compiler")
def test_a_product_with_checks_at_each_call_is_right():
    solution = find("case_launch").reference.text
    macro = """
#define TRY(call) { cudaError_t status = (call); if (status != cudaSuccess) return status; }
"""
    text = macro + solution
    for name in ("Malloc(&d_a", "Malloc(&d_b", "Malloc(&d_c", "Memcpy(d_a", "Memcpy(d_b"):
        start = text.index(f"cuda{name}")
        end = text.index(";", start)
        text = f"{text[:start]}TRY({text[start:end]}){text[end:]}"
    assert check("case_launch", text).name == "case_launch"


@pytest.mark.usefixtures("_host_compiler")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("multiply(const", "times(const", "there is no multiply in it"),
        ("sum += a[row * k + i]", "sum += a[row * n + i]", "elements are right"),
        ("cudaFree(d_b);", "", "cudaFree each piece"),
        ("int column =", "int column", "expected a"),
    ],
)
def test_other_mistakes_in_the_product_are_named(old, new, said):
    exercise = find("case_launch")
    answer = type(exercise.reference)(
        "case_launch", exercise.reference.text.replace(old, new), exercise.kernel
    )
    assert said in diagnose(exercise, answer)


def gpu_loop_with_one_copy(model, images, labels, device, clock, wait, epochs=2):
    model, criterion, kept = model.to(device), nn.CrossEntropyLoss(), []
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    pairs = list(zip(images, labels, strict=True))
    loader = DataLoader(pairs, 32, True)
    wait()
    begin = clock()
    for _ in range(epochs):
        for batch in loader:
            x, y = (one.to(device) for one in batch)
            sgd.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            sgd.step()
            kept.append(loss.item())
    return tuple(kept), clock() - begin


def gpu_loop_that_drops_the_rest(model, images, labels, device, clock, wait, epochs=2):
    model.to(device)
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    loader = DataLoader(TensorDataset(images, labels), 32, shuffle=True, drop_last=True)
    wait()
    begin, kept = clock(), []
    for _ in range(epochs):
        for x, y in loader:
            loss = functional.cross_entropy(model(x.to(device)), y.to(device))
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            kept.append(loss.detach())
    wait()
    return kept, clock() - begin


def test_a_loop_that_fetches_each_loss_waits_in_doing_so():
    # the step of the last batch is not fetched, and the device of the trial counts batches alone
    assert diagnose(find("case_gpu_loop"), gpu_loop_with_one_copy) is None


def test_a_rest_that_is_dropped_is_named():
    said = diagnose(find("case_gpu_loop"), gpu_loop_that_drops_the_rest)
    assert "not each of the 70 once per epoch" in said


def test_batches_that_never_go_forward_are_counted():
    def answer(model, batches, every):
        sgd, steps = torch.optim.SGD(model.parameters(), 0.1), 0
        for first in range(0, len(batches) - every + 1, every):
            for x, y in batches[first : first + every]:
                (functional.cross_entropy(model(x), y) / every).backward()
            sgd.step()
            sgd.zero_grad()
            steps += 1
        return steps

    assert "the number of batches that go forward" in diagnose(find("case_accumulation"), answer)


@pytest.mark.parametrize(
    ("clear_first", "weight", "said"),
    [
        (True, 1.0, "batches in each step is none, since no step has a gradient, expected 4, 4"),
        (
            False,
            2.0,
            "the update of each step is wrong from step 1 on, where it is 2 times as long",
        ),
    ],
)
def test_what_steps_do_is_told_in_plain_words(clear_first, weight, said):
    def answer(model, batches, every):
        sgd = torch.optim.SGD(model.parameters(), 0.1)
        groups = [batches[first : first + every] for first in range(0, len(batches), every)]
        for group in groups:
            for x, y in group:
                (weight * functional.cross_entropy(model(x), y) / len(group)).backward()
            if clear_first:
                sgd.zero_grad()
            sgd.step()
            sgd.zero_grad()
        return len(groups)

    assert said in diagnose(find("case_accumulation"), answer)


def test_a_step_goes_by_the_mean_gradient_of_its_batches():
    torch.manual_seed(0)
    model, twin = nn.Linear(3, 2).double(), nn.Linear(3, 2).double()
    twin.load_state_dict(model.state_dict())
    x, y = torch.rand(10, 3, dtype=torch.float64), torch.randint(2, (10,))
    batches = list(zip(x.split(2), y.split(2), strict=True))
    assert case_accumulation(model, batches, 3) == 2
    sgd = torch.optim.SGD(twin.parameters(), lr=0.1)
    for rows in (slice(0, 6), slice(6, 10)):
        sgd.zero_grad()
        functional.cross_entropy(twin(x[rows]), y[rows]).backward()
        sgd.step()
    np.testing.assert_allclose(flat(model.parameters()), flat(twin.parameters()), rtol=1e-12)


def test_what_is_planned_is_used():
    model = nn.Linear(3, 2)
    batches = [(torch.rand(4, 3), torch.randint(2, (4,)))]
    planned, used = case_schedule(model, batches, [1, 3], 5)
    np.testing.assert_allclose(planned, [0.1, 0.01, 0.01, 0.001, 0.001])
    np.testing.assert_allclose(used, planned)


def test_rows_that_are_shuffled_among_images_are_seen():
    def answer(side, classes=10):
        return lenet(side, classes, Turned())

    assert "does not depend on its own image alone" in diagnose(find("case_view"), answer)


def lenet(side, classes, *between, act=nn.ReLU, wide=nn.Linear):
    left = side // 4 - 3
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5), act(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *between,
        *(wide(16 * left * left, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, classes),
    )


class ChannelsLast(nn.Module):
    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


class ByHand(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = nn.Parameter(torch.rand(inputs, outputs) / inputs)
        self.b = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.w + self.b


def test_planes_may_be_laid_flat_in_any_order_and_a_matrix_may_be_turned():
    def answer(side, classes=10):
        return lenet(side, classes, ChannelsLast(), wide=ByHand)

    assert diagnose(find("case_view"), answer) is None


def test_other_layers_are_another_network():
    def answer(side, classes=10):
        return lenet(side, classes, nn.Flatten(), act=nn.Identity)

    assert "what its layers compute is something else" in diagnose(find("case_view"), answer)


def test_what_is_no_network_is_told():
    assert "which is no network" in diagnose(find("case_view"), lambda side, classes=10: 0)


class Turned(nn.Module):
    def forward(self, x):
        return x.transpose(0, 1).reshape(len(x), -1)
