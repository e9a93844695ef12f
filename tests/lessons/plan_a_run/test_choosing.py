"""Choosing a GPU: by hand, and against trying all of them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS
from gpulearn_lessons.plan_a_run.choosing import (
    Offer,
    Trial,
    cheapest_gpu_that_fits,
    cheapest_plan,
    offers,
)

SMALL = Offer("small", 16e9, 10e12, 300e9, 70.0, price=0.4)
LARGE = Offer("large", 80e9, 100e12, 3000e9, 700.0, price=2.0)
OWNED = Offer("owned", 80e9, 100e12, 3000e9, 700.0, price=None)


def test_by_hand():
    # 1e15 operations: 100 s on the small one, 40 dollar-seconds; 10 s on the large one, 20
    assert cheapest_gpu_that_fits([SMALL, LARGE], 1e9, 1e15, 1e9) == "large"
    assert SMALL.seconds(1e15, 1e9) == 100.0
    # five times the price for ten times the speed; a GPU that is twice as dear loses
    dear = Offer("dear", 80e9, 100e12, 3000e9, 700.0, price=4.4)
    assert cheapest_gpu_that_fits([SMALL, dear], 1e9, 1e15, 1e9) == "small"
    assert cheapest_gpu_that_fits([SMALL, dear], 17e9, 1e15, 1e9) == "dear"
    assert cheapest_gpu_that_fits([SMALL, OWNED], 17e9, 1e15, 1e9) is None
    assert cheapest_gpu_that_fits([], 1e9, 1e15, 1e9) is None


sizes = st.floats(1e6, 1e13)


@given(
    st.lists(st.builds(Offer, st.uuids().map(str), sizes, sizes, sizes, sizes, st.none() | sizes)),
    sizes,
    sizes,
    sizes,
)
def test_nothing_that_fits_is_cheaper(market, memory, flops, moved):
    name = cheapest_gpu_that_fits(market, memory, flops, moved)
    costs = {
        o.name: o.price * o.seconds(flops, moved)
        for o in market
        if o.price is not None and o.memory >= memory
    }
    assert (name is None) == (not costs)
    assert not costs or costs[name] == min(costs.values())


def test_offers_are_those_of_the_data_sheets():
    found = {o.name: o for o in offers()}
    assert set(found) == set(GPUS)
    assert found["T4"].peak == 65e12  # float16: it has no bfloat16
    assert found["H100"].peak == 989e12
    assert found["RTX 4060 Laptop"].price is None
    assert (found["H100"].price, found["H100"].power) == (1.99, 700)
    assert {o.name: o.price for o in offers("high")}["H100"] == 5.00


STEADY = Trial("steady", 8, 80e9, 60e9, step=1.0, price=2.0)
SPOT = Trial("spot", 8, 80e9, 60e9, step=1.0, price=1.0, interruptions=0.5)


def test_a_plan_by_hand():
    # 10 hours of work, half lost: 20 hours paid at 8 dollars, as dear as 10 hours at 16
    assert cheapest_plan([STEADY, SPOT], 36_000, 30, lost=0.9, wait=0) == "spot"  # 18.2 hours
    assert cheapest_plan([STEADY, SPOT], 36_000, 30, lost=1.1, wait=0) == "steady"  # 22.2 hours
    # 18.2 hours paid, 9.1 interruptions: 1 hour of waiting for each leaves it in time, 2 do not
    assert cheapest_plan([STEADY, SPOT], 36_000, 30, lost=0.9, wait=1) == "spot"
    assert cheapest_plan([STEADY, SPOT], 36_000, 30, lost=0.9, wait=2) == "steady"
    assert cheapest_plan([SPOT], 36_000, 1e9, lost=2, wait=0) is None
    assert cheapest_plan([STEADY], 36_000, 9.9, lost=2, wait=0) is None


some = st.floats(0.1, 10)


@given(
    st.lists(
        st.builds(Trial, st.uuids().map(str), st.integers(1, 64), some, some, some, some, some)
    ),
    st.integers(1, 10**5),
    st.floats(1, 1000),
    st.floats(0, 2),
    st.floats(0, 2),
)
def test_no_plan_that_fits_and_is_in_time_is_cheaper(trials, steps, deadline, lost, wait):
    name = cheapest_plan(trials, steps, deadline, lost, wait)
    costs = {}
    for one in trials:
        work, again = steps * one.step / 3600, one.interruptions * lost
        hours = work / (1 - again) if again < 1 else math.inf
        if one.needed <= one.memory and hours + hours * one.interruptions * wait <= deadline:
            costs[one.name] = hours * one.price * one.gpus
    assert (name is None) == (not costs)
    assert not costs or costs[name] == pytest.approx(min(costs.values()))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: offers("middle"), "There is no price 'middle'"),
        (
            lambda: cheapest_gpu_that_fits([3], 1, 1, 1),
            "offers is [3]: give a list of plan_a_run.Offer",
        ),
        (lambda: cheapest_gpu_that_fits([SMALL], 0, 1, 1), "memory is 0"),
        (lambda: cheapest_plan([SMALL], 1, 1, 1, 1), "give a list of plan_a_run.Trial"),
        (lambda: cheapest_plan([STEADY], 1, 1, -1, 1), "lost is -1"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        call()
