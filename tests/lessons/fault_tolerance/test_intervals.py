"""How often to save, held against failures that are played event by event."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn_lessons.fault_tolerance.intervals import (
    best_interval,
    checkpoint_interval,
    daly_interval,
    lost_share,
    young_interval,
)

PARTS = st.floats(1e-6, 5.0)  # of the MTBF


def played(interval, cost, restart, mtbf, work, seed=0):
    """Share of the time that is lost in one long training, minute by minute, in plain Python."""
    rng = random.Random(seed)
    now = done = 0.0
    fails = rng.expovariate(1 / mtbf)

    def lasts(seconds):
        nonlocal now, fails
        if now + seconds <= fails:
            now += seconds
            return True
        now = fails
        fails = now + rng.expovariate(1 / mtbf)
        while now + restart > fails:  # a restart may fail as well
            now = fails
            fails = now + rng.expovariate(1 / mtbf)
        now += restart
        return False

    while done < work:
        if lasts(interval) and lasts(cost):
            done += interval
    return 1 - done / now


@pytest.mark.parametrize("interval", [20, 60, 200])
@pytest.mark.parametrize(("cost", "restart"), [(2, 10), (20, 0), (0.5, 90)])
def test_the_formula_is_what_played_failures_lose(interval, cost, restart):
    lost = played(interval, cost, restart, mtbf=100, work=200_000)
    assert lost_share(interval, cost, restart, 100) == pytest.approx(lost, abs=0.02)


@given(cost=PARTS, restart=st.floats(0, 3))
def test_no_interval_loses_less_than_the_best(cost, restart):
    best = best_interval(cost, 1)
    least = lost_share(best, cost, restart, 1)
    others = lost_share(best * np.geomspace(0.01, 100, 401), cost, restart, 1)
    assert (least <= others + 1e-12).all()
    assert math.isclose(math.exp(-(best + cost)), 1 - best, abs_tol=1e-12)


@given(cost=PARTS, mtbf=st.floats(1e-3, 1e6), unit=st.sampled_from([60, 3600]))
def test_the_unit_does_not_matter(cost, mtbf, unit):
    cost *= mtbf
    for rule in (young_interval, daly_interval, best_interval):
        assert math.isclose(rule(unit * cost, unit * mtbf), unit * rule(cost, mtbf), rel_tol=1e-9)
    one = lost_share(mtbf, cost, mtbf / 3, mtbf)
    assert math.isclose(lost_share(unit * mtbf, unit * cost, unit * mtbf / 3, unit * mtbf), one)


@given(cost=st.floats(1e-6, 1.5))
def test_daly_is_within_a_thousandth_of_the_best_and_young_while_saving_is_short(cost):
    def longer(rule):
        return (1 - lost_share(best_interval(cost, 1), cost, 0, 1)) / (
            1 - lost_share(rule(cost, 1), cost, 0, 1)
        ) - 1

    assert -1e-9 <= longer(daly_interval) < 1e-3
    assert longer(young_interval) < 1e-2 or cost > 0.15
    assert cost < 0.25 or longer(young_interval) > 1e-2


def test_checkpoint_interval_has_its_units():
    seconds, lost = checkpoint_interval(60, 30, 1000, 10)
    assert seconds == best_interval(60, 100 * 3600)
    assert lost == lost_share(seconds / 3600, 1 / 60, 0.5, 100)
    assert checkpoint_interval(60, 0, 1000, 10)[0] == seconds  # a restart changes the loss alone


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: young_interval(0, 5), "cost is 0"),
        (lambda: best_interval(5, -1), "mtbf is -1"),
        (lambda: lost_share(5, 1, -1, 5), "restart is -1"),
        (lambda: checkpoint_interval(1, 1, 1, 0), "gpus is 0"),
    ],
)
def test_bad_input_is_told(call, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        call()


def test_the_extremes():
    assert daly_interval(2, 1) == daly_interval(7, 1) == 1  # once in an MTBF where a save is dear
    assert lost_share(1e6, 1, 0, 1) == 1  # what can never end is lost whole
    assert lost_share(np.array([0.5, 1e6]), 0.1, 0, 1)[1] == 1
