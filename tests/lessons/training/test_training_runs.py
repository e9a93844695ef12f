"""Curves of runs say what they show, and the board draws while training runs."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.train.history import Epoch, Step
from gpulearn_lessons.training import training_board, training_explorer, training_runs
from gpulearn_lessons.training.training_runs import draw_training, smoothed, summary


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def steps_of(losses, norm=2.0):
    return [Step(k, 1, 64, loss, 0.1, norm) for k, loss in enumerate(losses, 1)]


LOSSES = [2.3, 1.0, 0.5, 0.25]
STEPS, EPOCHS = steps_of(LOSSES), [Epoch(1, 4, 1.0, 0.5, 0.875, 0.25)]
SMALL = gl.data.Digits(*(part[:96] for part in gl.digits()))


# --- curves


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.integers(1, 25))
def test_smoothing_is_the_mean_of_the_last_values(values, window):
    means = smoothed(values, window)
    assert len(means) == len(values)
    for place, value in enumerate(means):
        assert math.isclose(
            value, np.mean(values[max(0, place + 1 - window) : place + 1]), abs_tol=1e-12
        )


def test_a_finding_names_losses_norm_and_accuracy():
    assert summary(STEPS, EPOCHS) == (
        "After 4 steps the loss, a mean over up to 20 steps, went from 2.3 to 1.01; the gradient's "
        "norm was at most 2; 87.5% of the held-out digits are right."
    )
    assert summary([], []) == "No step has been taken yet."
    assert summary(STEPS, []).endswith("norm was at most 2.")
    assert summary(steps_of([2.3, math.nan, 1.0]), []) == (
        "After 3 steps: at step 2 the loss was not finite."
    )
    steps = [replace(STEPS[0], gradient_norm=math.inf), *STEPS[1:]]
    assert "norm was at most 2;" in summary(steps, EPOCHS)  # one that overflowed is left out


# --- the board


class Place:
    """Stands for the spot under the cell where a display is kept."""

    def __init__(self, shown):
        self.shown = [shown]

    def update(self, shown, raw):
        self.shown.append(shown)


@pytest.fixture
def notebook(monkeypatch):
    """A kernel, in which `display` keeps what is shown; and a clock that the test moves."""
    places, clock = [], [0.0]

    def display(shown, raw, display_id):
        places.append(Place(shown))
        return places[-1]

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(training_runs, "in_notebook", lambda: True)
    monkeypatch.setattr(training_runs, "monotonic", lambda: clock[0])
    return places, clock


def test_a_board_draws_in_one_place_and_not_too_often(notebook):
    places, clock = notebook
    board = training_board()
    for moment, step in zip((0.0, 0.1, 0.3, 0.5), STEPS, strict=True):
        clock[0] = moment
        board(step)
    assert len(places) == 1
    assert ["After 1 steps" in s["text/plain"] for s in places[0].shown] == [True, False]
    board(EPOCHS[0])
    board._ipython_display_()
    last = places[0].shown[-1]
    assert len(places) == 1  # the last value of the cell is the picture that stands there
    assert "87.5% of the held-out digits" in last["text/plain"]
    assert re.search(r'<img alt="Four curves .* 87\.5% of', last["text/html"])
    board._ipython_display_()
    assert len(places) == 2  # asked for in another cell, it stands there


def test_a_slow_drawing_is_followed_by_a_long_pause(notebook, monkeypatch):
    places, clock = notebook
    board = training_board()
    picture = board.picture

    def slow():
        clock[0] += 2.0
        return picture()

    monkeypatch.setattr(board, "picture", slow)
    board(STEPS[0])
    for moment in (3.0, 6.0, 9.9, 10.1):  # drawn until 2.0; a quarter of the time may be drawing
        clock[0] = moment
        board(STEPS[1])
    assert len(places[0].shown) == 2


def test_an_error_in_a_drawing_reaches_the_training_loop(notebook, monkeypatch):
    board = training_board()
    monkeypatch.setattr(training_runs, "draw_run", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        gl.fit(gl.train.MLP(), SMALL, epochs=1, lr=0.01, progress=False, on_step=board)


def test_outside_a_notebook_a_board_only_collects():
    board, model = training_board(), gl.train.MLP()
    run = gl.fit(model, SMALL, epochs=2, lr=0.01, progress=False, on_step=board, on_epoch=board)
    assert board._place is None
    assert (board.steps, board.epochs) == (run.steps, run.epochs)
    assert repr(board).startswith("[training board: After 4 steps the loss")
    assert "<img alt=" in board._repr_html_()


def test_a_board_refuses_what_it_cannot_draw():
    with pytest.raises(gl.errors.BadInput, match="given 3: hand it to gl.fit as on_step"):
        training_board()(3)


def test_the_explorer_trains_anew_and_tells_a_rate_that_is_too_high():
    picture, text = draw_training(SMALL, 1, rate=0.05, clip=1.0, schedule="cosine")
    assert text.startswith("Rate 0.05, clip 1.0, cosine. After 2 steps")
    assert "of the held-out digits are right" in text
    _, unclipped = draw_training(SMALL, 6, rate=0.5, clip=0.0, schedule="cosine")
    _, clipped = draw_training(SMALL, 6, rate=0.5, clip=0.01, schedule="cosine")
    assert unclipped.split("loss")[1] != clipped.split("loss")[1]
    assert picture.png.startswith(b"\x89PNG")
    _, stopped = draw_training(SMALL, 8, rate=1e6, clip=0.0, schedule="constant")
    assert re.search(r"clip none, constant\. .* Step \d+ stopped: the loss", stopped)

    explorer = training_explorer(SMALL, epochs=1)
    before = explorer.picture.value
    assert "Rate 1, clip none, constant" in before  # where notebook 13 begins to clip
    explorer.controls["rate"].value = 0.1
    assert explorer.picture.value != before
    assert "Rate 0.1, clip none" in explorer.picture.value
