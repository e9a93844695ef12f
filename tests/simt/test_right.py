"""Right kernels get right answers, and no finding: a false alarm costs a learner's trust."""

from __future__ import annotations

import copy

import pytest

from .cases import Case, assert_same
from .harness import launch, xray
from .right import CASES


def test_there_are_at_least_forty() -> None:
    assert len({case.name for case in CASES}) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_xray_finds_nothing_in_a_right_kernel(case: Case) -> None:
    args = copy.deepcopy(case.make())
    report = xray(case.kernel, case.grid, case.block, *args, shared=case.shared)
    assert [str(f) for f in report.findings] == []
    assert report.ok
    assert_same(args, case.expected(), case.rtol)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_plain_launch_gives_the_answer_without_a_warning(case: Case) -> None:
    args = copy.deepcopy(case.make(seed=2))
    launch(case.kernel, case.grid, case.block, *args, shared=case.shared)
    assert_same(args, case.expected(seed=2), case.rtol)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_an_unchecked_launch_gives_the_same_answer(case: Case) -> None:
    args = copy.deepcopy(case.make(seed=3))
    launch(case.kernel, case.grid, case.block, *args, shared=case.shared, checked=False)
    assert_same(args, case.expected(seed=3), case.rtol)
