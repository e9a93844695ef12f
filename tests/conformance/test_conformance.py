"""Numba-cuda's own tests pass, as many as ever did; what is left out has its reasons."""

import os

import pytest

from . import suite

MODULES = suite.modules() if hasattr(os, "fork") else []

if not MODULES:
    pytest.skip(
        "these are numba-cuda's tests, which is not installed, or cannot fork here",
        allow_module_level=True,
    )


@pytest.fixture(scope="module")
def driver():
    with suite.Driver() as made:
        yield made


@pytest.mark.parametrize("module", [m for m in MODULES if "*" not in suite.left_out().get(m, {})])
def test_as_many_pass_as_ever(driver, module):
    answers = driver.run(module)
    failed = [f"{test}: {said}" for test, outcome, said, _ in answers if outcome == "failed"]
    passed = sum(outcome == "passed" for _, outcome, _, _ in answers)
    floor = suite.floors().get(module, 0)
    assert not failed, "\n".join(["mend these, or leave them out with a reason:", *failed])
    assert passed >= floor


def test_what_is_left_out_is_there_and_has_a_reason():
    for module, tests in suite.left_out().items():
        assert module in MODULES
        assert all(tests.values())
        assert len(tests) == 1 or "*" not in tests
    assert set(suite.floors()) <= set(MODULES)
