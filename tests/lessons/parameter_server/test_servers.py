"""Figures of parameter servers say what they show."""

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn_lessons.parameter_server import train_with_server
from gpulearn_lessons.parameter_server.servers import SIZES, delayed_descent, sentence, staleness


def run(seconds):
    def train():
        bowl = lambda weights, worker, step: weights  # noqa: E731
        return train_with_server(bowl, torch.ones(1), 40, 0.1, seconds=seconds)

    return gl.simulate(train, len(seconds) + 1).results[0]


def test_a_histogram_is_told_in_numbers():
    alt = staleness({"three": run([0.1] * 3), "two": run([0.1, 0.3])}).alt
    assert "three: mean 1.93, most often 2 (38 of 40), at most 2." in alt
    assert "two: " in alt


def test_what_is_no_run_is_refused():
    with pytest.raises(BadInput, match="runs is {}"):
        staleness({})
    with pytest.raises(BadInput, match="what train_with_server returns"):
        staleness({"a": 3})


@pytest.mark.parametrize("delay", range(11))
def test_the_explorer_says_which_side_of_the_limit_it_is_on(delay):
    for size in SIZES:
        text, distances = sentence(delay, size), delayed_descent(size, delay, 3000)
        assert ("shrinks" in text) == (distances[-100:].max() < 1) == ("below" in text)
