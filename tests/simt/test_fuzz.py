"""Properties over random kernels: machine and reference agree to the bit."""

import random

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from simt.frontend import numba_bridge, typecheck

from . import fuzz, grammar, reference_types

XRAY, PLAIN, UNCHECKED, REORDERED = fuzz.RUNS


@seed(20)
@settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_machine_agrees_with_the_reference(data: st.DataObject) -> None:
    program = grammar.program(lambda n: data.draw(st.integers(0, n - 1)))
    note(program.source)
    assert fuzz.difference(program, [(0, XRAY), (1, PLAIN), (2, UNCHECKED)]) is None


@pytest.mark.parametrize("first", range(1000, 1020, 10))
def test_machine_agrees_on_larger_kernels(first: int) -> None:
    """Plain random choice makes deeper programs than hypothesis, which prefers small ones."""
    for number in range(first, first + 10):
        program = grammar.program(random.Random(number).randrange)
        cases = [(number, XRAY), (number + 1, PLAIN), (number, UNCHECKED)]
        wrong = fuzz.difference(program, [*cases, (number, REORDERED)])
        assert wrong is None, f"{wrong}\n{program.source}"


def test_numba_is_asked_once_for_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(*about):
        asked.append(about)
        return numba_bridge.type_annotation(*about)

    monkeypatch.setattr(reference_types, "type_annotation", ask)
    monkeypatch.setattr(typecheck, "type_annotation", ask)
    program = grammar.program(random.Random(1000).randrange)
    assert fuzz.difference(program, [(0, XRAY), (1, PLAIN)]) is None
    assert len(asked) == 1


def test_the_grammar_reaches_what_it_promises() -> None:
    text = "\n".join(grammar.program(random.Random(k).randrange).source for k in range(120))
    for word in (
        "while ", "for ", "break", "continue", "return\n", "else:", "elif ", "syncthreads",
        "shared.array", "local.array", "atomic.add", "atomic.max", "whole0(", "part0(", "pair0(",
        " if ", "np.int32(", "np.float32(", "//", "<<", "swap0(", "range(cuda.blockIdx.x)",
        "while True:", "enumerate(", "zip(", "conjugate()", "oc8[i]", "orec[i] = rec[i]",
        "rec[i].sub.", ".reshape(", ".view(", ".T", "fill0(", "np.maximum(", "SIZE,",
    ):  # fmt: skip
        assert word in text, word
