"""The loop of epochs and the rule that ends it, against sums by hand."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from gpulearn.errors import BadInput
from gpulearn.train.step import train_step
from gpulearn_lessons.training.loop import stop_early, train_epochs

pytestmark = pytest.mark.usefixtures("one_thread")


def network():
    torch.manual_seed(3)
    layers = nn.Linear(6, 5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 3)
    return nn.Sequential(*layers).double()


def some(sizes, seed):
    maker = torch.Generator().manual_seed(seed)
    return [
        (torch.rand(n, 6, generator=maker).double(), torch.randint(3, (n,), generator=maker))
        for n in sizes
    ]


def test_it_is_the_same_as_step_after_step_with_every_mean_taken_over_images():
    batches, held_out = some((4, 4, 1), 0), some((5, 2), 1)
    model = network()
    twin = copy.deepcopy(model)
    torch.manual_seed(7)
    history = train_epochs(model, torch.optim.SGD(model.parameters(), lr=0.5), batches, held_out, 3)
    torch.manual_seed(7)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.5)
    images, labels = (torch.cat(part) for part in zip(*held_out, strict=True))
    for loss, accuracy in history:
        losses = [train_step(twin, optimizer, *batch) for batch in batches]
        assert loss == pytest.approx((4 * losses[0] + 4 * losses[1] + losses[2]) / 9)
        twin.eval()
        with torch.no_grad():
            right = (twin(images).argmax(dim=1) == labels).double().mean().item()
        assert accuracy == pytest.approx(right)
    pairs = zip(model.parameters(), twin.parameters(), strict=True)
    assert all(torch.equal(p, expected) for p, expected in pairs)


def test_two_softmaxes_leave_a_loss_that_cannot_fall_below_1_46():
    """The scores are then between 0 and 1; e⁰ for nine classes and e¹ for the right one."""
    best = functional.cross_entropy(functional.one_hot(torch.arange(10), 10).double(),
                                    torch.arange(10))  # fmt: skip
    assert best.item() == pytest.approx(math.log(math.e + 9) - 1)
    assert f"{best:.2f}" == "1.46"


def by_hand(losses, patience):
    """The rule said backwards: look for the first epoch with `patience` of no use behind it."""
    records = [
        i for i, loss in enumerate(losses, 1)
        if loss < min([math.inf, *(x for x in losses[: i - 1] if x == x)])
    ]  # fmt: skip
    for done in range(1, len(losses) + 1):
        last = max([r for r in records if r <= done], default=0)
        if done - last >= patience:
            return last, done
    return max(records, default=0), len(losses)


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, math.inf, math.nan]), max_size=12),
    st.integers(1, 4),
)
def test_the_rule_holds_whatever_the_losses(losses, patience):
    assert stop_early(iter(losses), patience) == by_hand(losses, patience)


def test_no_epoch_is_trained_that_is_not_needed():
    trained = []

    def losses():
        for loss in (3.0, 1.0, 2.0, 2.0, 0.5):
            trained.append(loss)
            yield loss

    assert stop_early(losses(), patience=2) == (2, 4)
    assert trained == [3.0, 1.0, 2.0, 2.0]


def test_bad_input():
    with pytest.raises(BadInput, match="patience is 0"):
        stop_early([1.0], 0)
    with pytest.raises(BadInput, match="epochs is 0"):
        train_epochs(network(), None, [], [], 0)
