"""Replicas drifting apart, and what compressed gradients cost: on real ranks."""

import re

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn_lessons import scaling_out
from gpulearn_lessons.scaling_out import compression_study, measure_drift
from gpulearn_lessons.scaling_out import scaling_studies as drift_figure
from gpulearn_lessons.scaling_out.compressed_gradients import average_compressed
from gpulearn_lessons.scaling_out.replica_drift import POLICIES, Drift, _drift, _own_digits

STEPS, EVERY = 12, 4


@pytest.fixture(scope="module")
def drifts():
    return measure_drift(list(POLICIES), steps=STEPS, every=EVERY)


def test_averaged_gradients_keep_replicas_equal_to_the_bit(drifts):
    assert drifts["gradients averaged"].distances.tolist() == [0.0] * (STEPS + 1)
    assert len(set(drifts["gradients averaged"].accuracies)) == 1


def test_equal_seeds_keep_them_equal_for_no_longer_than_the_start(drifts):
    apart = drifts["equal seeds only"].distances
    assert apart[0] == 0
    assert (apart[1:] > 0).all()
    assert apart[-1] > 2 * apart[1]


def test_averaged_parameters_meet_again_every_few_steps(drifts):
    apart = drifts["parameters averaged"].distances
    assert [step for step in range(STEPS + 1) if apart[step] == 0] == [0, 4, 8, 12]
    # until they first meet it is training alone
    np.testing.assert_array_equal(apart[:4], drifts["equal seeds only"].distances[:4])


def test_own_starts_stay_apart_though_gradients_are_averaged(drifts):
    averaged, alone = drifts["own starts"].distances, drifts["nothing exchanged"].distances
    assert averaged[0] == alone[0] > 1
    assert averaged[-1] > 1
    # the same gradient for both: the difference of the weights does not change, their norm does
    assert averaged[-1] == pytest.approx(averaged[0], rel=0.05)


def test_with_digits_of_its_own_a_silent_replica_reads_those_alone():
    names = ["gradients averaged", "equal seeds only"]
    own = measure_drift(names, steps=40, by_digit=True)
    silent = own["equal seeds only"].accuracies
    assert max(silent) < 0.62  # half of the ten digits, and a little luck
    assert own["gradients averaged"].accuracies[0] > max(silent) + 0.05
    labels = torch.tensor([3, 1, 0, 2, 1, 0])

    def mine():
        return _own_digits(labels, torch.arange(8)).tolist()

    samples = gl.launch(mine, 2, backend="simulated")
    assert [sorted({labels[n].item() for n in rank}) for rank in samples] == [[0, 1], [1, 2, 3]]
    assert [len(rank) for rank in samples] == [8, 8]


def test_distances_are_the_definition():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10, bias=False))
    first = torch.zeros(2, 640)
    first[:, :2] = torch.tensor([3.0, 4.0])
    second, third = first.clone(), first.clone()
    second[1, 0] += 1.0
    third[1, 1] -= 2.0
    drift = _drift([first, second, third], model)
    assert drift.distances.tolist() == [0.0, 2.0 / 5.0]
    assert len(drift.accuracies) == 3


def test_the_picture_gives_equal_replicas_a_row_of_their_own(drifts, monkeypatch):
    figures, show = [], drift_figure.show
    monkeypatch.setattr(
        drift_figure, "show", lambda figure, alt: figures.append(figure) or show(figure, alt)
    )
    alt = scaling_out.drift(drifts).alt
    assert "gradients averaged equal to the bit at every step" in alt
    assert "parameters averaged equal to the bit at the end, at most 0.0" in alt
    assert "but equal to the bit after 3 steps on the way" in alt
    (axes,) = figures[0].axes
    floor = axes.get_yticks()[0]
    assert axes.get_yticklabels()[0].get_text() == "equal\nto the bit"
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert set(lines["gradients averaged"]) == {floor}
    others = np.concatenate([drift.distances for drift in drifts.values()])
    assert floor < others[others > 0].min() / 9
    np.testing.assert_array_equal(lines["nothing exchanged"], drifts["nothing exchanged"].distances)
    scaling_out.drift({"one": drifts["parameters averaged"]})
    assert len(figures[1].axes[0].get_yticks()) >= 4  # a scale needs more than one number


def test_a_replica_says_what_it_is():
    assert repr(Drift(np.zeros(3), (0.5, 0.5), 0.5)).startswith("equal to the bit after 2 steps")


@pytest.fixture(scope="module")
def compressed():
    return compression_study(steps=40)


def test_float16_halves_the_bytes_and_hardly_changes_the_loss(compressed):
    none, half = compressed["none"], compressed["float16"]
    assert none.bytes_sent == none.bytes_whole == 2 * half.bytes_sent
    assert none.error == none.summed_error == 0
    assert 0 < half.error < 2**-10
    assert half.losses[-1] == pytest.approx(none.losses[-1], rel=0.02)
    assert half.losses[0] == none.losses[0]


def test_feedback_makes_a_gradient_late_and_not_lost(compressed):
    late, lost = compressed["top-k"], compressed["top-k, no feedback"]
    assert late.bytes_sent == lost.bytes_sent < 0.05 * late.bytes_whole
    assert late.error > lost.error  # each gradient is further off
    assert late.summed_error < 0.7 * lost.summed_error  # their sum is nearer
    assert compressed["none"].losses[-1] < late.losses[-1] < lost.losses[-1]


def twice(method):
    model = torch.nn.Linear(2, 1, bias=False)
    given, residuals = [], {}
    for _ in range(2):
        model.weight.grad = torch.tensor([[4.0, 3.0]])
        average_compressed(model, method, residuals, keep=0.5)
        given.append(model.weight.grad.flatten().tolist())
    return given


def test_without_feedback_the_small_entry_never_leaves():
    assert gl.simulate(twice, 2, "top-k").results[0] == [[4.0, 0.0], [0.0, 6.0]]
    assert gl.simulate(twice, 2, "top-k, no feedback").results[0] == [[4.0, 0.0], [4.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measure_drift(["nothing"]), "There is no policy 'nothing'"),
        (lambda: measure_drift([]), "policies is empty"),
        (lambda: measure_drift(every=0), "every is 0"),
        (lambda: scaling_out.drift({}), "drifts is {}"),
        (lambda: scaling_out.drift({"a": 1}), "drifts holds 1"),
        (lambda: compression_study(steps=0), "steps is 0"),
    ],
)
def test_bad_input_is_told(call, message):
    with pytest.raises(gl.errors.BadInput, match=re.escape(message)):
        call()
