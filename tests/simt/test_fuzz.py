"""Properties over random kernels: machine and reference agree to the bit."""

import random

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from . import fuzz, grammar

XRAY, PLAIN, UNCHECKED, REORDERED = fuzz.RUNS


@seed(20)
@settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_machine_agrees_with_the_reference(data: st.DataObject) -> None:
    program = grammar.program(lambda n: data.draw(st.integers(0, n - 1)))
    note(program.source)
    assert fuzz.difference(program, [(0, XRAY), (1, PLAIN), (1, UNCHECKED)]) is None


@pytest.mark.parametrize("first", range(1000, 1020, 10))
def test_machine_agrees_on_larger_kernels(first: int) -> None:
    """Plain random choice makes deeper programs than hypothesis, which prefers small ones."""
    for number in range(first, first + 10):
        program = grammar.program(random.Random(number).randrange)
        cases = [(number, XRAY), (number + 1, PLAIN), (number, UNCHECKED)]
        wrong = fuzz.difference(program, [*cases, (number, REORDERED)])
        assert wrong is None, f"{wrong}\n{program.source}"
