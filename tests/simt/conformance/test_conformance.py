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


@pytest.mark.parametrize("module", MODULES)
def test_every_test_passes_or_has_a_reason_and_as_many_pass_as_ever(driver, module):
    answers = driver.run(module)
    failed = [f"{test}: {said}" for test, outcome, said, _ in answers if outcome == "failed"]
    passed = sum(outcome == "passed" for _, outcome, _, _ in answers)
    assert not failed, "\n".join(["mend these, or leave them out with a reason:", *failed])
    assert all(said for _, outcome, said, _ in answers if outcome != "passed")
    assert passed >= suite.floors().get(module, 0)
    tests = {test for test, *_ in answers}
    there = tests | {test.partition(".")[0] for test in tests} | {"*"}
    assert suite.left_out().get(module, {}).keys() <= there


def test_the_list_of_what_is_left_out_names_modules_and_reasons():
    for module, tests in suite.left_out().items():
        assert module in MODULES
        assert all(tests.values())
        assert len(tests) == 1 or "*" not in tests
    assert set(suite.floors()) <= set(MODULES)
