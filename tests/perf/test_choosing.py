"""Choosing a GPU: by hand, and against trying all of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn.perf.choosing import Offer, cheapest_gpu_that_fits, offers
from gpulearn.perf.gpus import GPUS

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
    found = {o.name: o for o in offers("half")}
    assert set(found) == set(GPUS)
    assert found["T4"].peak == 65e12  # float16: it has no bfloat16
    assert found["H100"].peak == 989e12
    assert found["RTX 4060 Laptop"].price is None
    assert (found["H100"].price, found["H100"].power) == (1.99, 700)
    assert {o.name: o.price for o in offers("half", "high")}["H100"] == 5.00
    assert "T4" not in {o.name for o in offers("bfloat16")}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: offers("float31"), "did you mean"),
        (lambda: offers(price="middle"), "There is no price 'middle'"),
        (
            lambda: cheapest_gpu_that_fits([3], 1, 1, 1),
            "offers is [3]: give a list of gl.perf.Offer",
        ),
        (lambda: cheapest_gpu_that_fits(SMALL, 1, 1, 1), "give a list of gl.perf.Offer"),
        (lambda: cheapest_gpu_that_fits([SMALL], 0, 1, 1), "memory is 0"),
        (lambda: cheapest_gpu_that_fits([SMALL], 1, -1, 1), "flops is -1"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        call()
