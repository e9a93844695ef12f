"""Right kernels get right answers, and no finding: a false alarm costs a learner's trust."""

from functools import partial

import pytest

from .cases import Case, assert_same
from .harness import launch, xray
from .right import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_gives_the_answer_and_no_finding_however_it_is_launched(case: Case) -> None:
    runs = (xray, launch, partial(launch, checked=False))
    for seed, run in enumerate(runs, 1):
        args = case.make(seed)
        report = run(case.kernel, case.grid, case.block, *args, shared=case.shared)
        assert report is None or [str(f) for f in report.findings] == []
        assert_same(args, case.expected(seed), case.rtol)
