"""The catalogue of launches: nothing is missing from it, and nothing wrong passes it."""

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numba import typeof, types

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.kernels.histogram import histogram_racy
from gpulearn.perf.recorders.measuring import WrongResultError
from gpulearn_lessons.matmul.ladder import LADDER
from simt.numba_ptx.codegen import compile_to_ptx
from tools.gpu.case import SIZES, Case, Shot
from tools.gpu.cases import CASES, SUBJECTS
from tools.gpu.cases.lesson_kernels import transpose_overflows

from .found import package_kernels

WARNINGS = ("negative-index", "float64-leak", "implicit-copy")
STOPS = ("out-of-bounds", "barrier-divergence", "launch-limit", "not-a-kernel", "no-progress")


def arrays(shot: Shot) -> list[np.ndarray]:
    return [a for a in shot.args if isinstance(a, np.ndarray)]


def test_every_kernel_of_the_package_has_a_case():
    launched = {id(case.kernel) for case in CASES.values()}
    assert [n for n, kernel in package_kernels().items() if id(kernel) not in launched] == []


def test_every_rung_of_the_ladder_has_a_size_that_its_tiles_fill_and_one_that_they_do_not():
    fits = {True: set(), False: set()}
    for case in CASES.values():
        for rung in (r for r in LADDER.values() if r.kernel is case.kernel):
            c = case.shot("small").args[2].view(np.float32)
            filled = c.shape[0] % rung.covers[1] == c.shape[1] % rung.covers[0] == 0
            fits[filled].add(rung.name)
    assert fits[True] == fits[False] == set(LADDER)


def test_no_two_cases_have_one_name_and_each_begins_with_its_kernels():
    names = [case.name for subject in SUBJECTS for case in subject.CASES]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    for case in CASES.values():
        assert case.name.partition(",")[0] == case.kernel.__name__


def test_only_a_finding_is_a_reason_to_leave_a_result_open_or_to_keep_off_a_gpu():
    for case in CASES.values():
        assert set(case.sizes) <= set(SIZES), case
        assert "small" in case.sizes, case
        assert case.finding or case.runs_on_gpu, case
        assert case.runs_on_gpu == (case.finding not in STOPS), case
        assert case.finding or case.expect(*map(np.copy, case.shot("small").args)), case


@pytest.mark.parametrize("name", CASES)
def test_a_small_launch_is_small_full_of_random_numbers_and_the_same_every_time(name):
    case = CASES[name]
    shot, again = case.shot("small"), case.shot("small")
    threads = np.prod(shot.grid) * np.prod(shot.block)
    assert threads <= 20_000, threads
    for one, other in zip(arrays(shot), arrays(again), strict=True):
        assert one is not other
        np.testing.assert_array_equal(one, other)
    for place, wanted in case.expect(*map(np.copy, shot.args)).items():
        written = shot.args[place]
        assert not np.array_equal(written, wanted), "the result stands there before the launch"
    outputs = {id(shot.args[p]) for p in case.expect(*map(np.copy, shot.args))}
    for given in arrays(shot):
        if id(given) not in outputs and not case.finding and given.size > 1:
            assert np.count_nonzero(given) > given.size / 2, "zeros"


@pytest.mark.parametrize("name", CASES)
def test_the_machine_finds_what_the_case_says_and_the_result_is_numpys(name):
    case = CASES[name]
    shot = case.shot("small")
    there = shot.on_device()
    report = gl.xray(case.kernel)[shot.grid, shot.block](*there)
    kinds = {finding.kind for finding in report.findings}
    assert case.finding in kinds if case.finding else not kinds, report
    case.check(shot, there)


# --- what passes for right


def doubled(kernel=None, tolerance=0.0, wanted=None, **more):
    """A case without a launch: its one argument must hold twice what it held."""
    values = np.array([1.0, -2.0, 3.0])

    def expect(a):
        return {0: 2 * a if wanted is None else wanted}

    return Case("doubled", "03", kernel, lambda size: Shot(1, 32, (values,)), expect, tolerance,
                **more)  # fmt: skip


@pytest.mark.parametrize(
    ("got", "fault"),
    [
        ([2.0, -4.0, 6.0], None),
        ([2.0, -4.0, 6.0 + 5e-6], None),
        ([2.0, -4.0, 6.0 + 7e-6], "in 1 of 3 elements, first in (2,)"),
        ([2.0, np.nan, 6.0], "in 1 of 3 elements, first in (1,): nan where NumPy says -4.0"),
        ([np.inf, -np.inf, 6.0], "in 2 of 3 elements"),
    ],
)
def test_what_is_further_off_than_the_tolerance_is_wrong(got, fault):
    case = doubled(tolerance=1e-6)
    shot = case.shot("small")
    if fault is None:
        case.check(shot, (np.array(got),))
    else:
        with pytest.raises(WrongResultError, match=re.escape(fault)):
            case.check(shot, (np.array(got),))


def test_without_a_tolerance_one_bit_is_wrong_and_so_is_a_shape():
    case = doubled()
    shot = case.shot("small")
    case.check(shot, (np.array([2.0, -4.0, 6.0]),))
    with pytest.raises(WrongResultError):
        case.check(shot, (np.array([2.0, -4.0, np.nextafter(6.0, 7)]),))
    with pytest.raises(BadInput, match="shape"):
        case.check(shot, (np.array([2.0, -4.0]),))
    big = replace(case, expect=lambda a: {0: np.array([2**60, 1])})
    with pytest.raises(WrongResultError):  # equal as float64
        big.check(shot, (np.array([2**60 + 1, 1]),))


def test_nan_and_infinity_are_right_where_numpy_says_so_and_nowhere_else():
    case = doubled(tolerance=1e-6, wanted=np.array([np.nan, np.inf, 1.0]))
    shot = case.shot("small")
    case.check(shot, (np.array([math.nan, math.inf, 1.0]),))
    for got in ([1.0, np.inf, 1.0], [np.nan, -np.inf, 1.0], [np.nan, 9e9, 1.0], [np.nan] * 3):
        with pytest.raises(WrongResultError):
            case.check(shot, (np.array(got),))


def test_what_is_masked_may_be_anything_and_the_rest_may_not():
    case = next(case for name, case in CASES.items() if "with room" in name)
    shot = case.shot("small")
    image, out = shot.args
    assert case.kernel is transpose_overflows
    out[: image.shape[1], : image.shape[0]] = image.T
    case.check(shot, (image, out))
    out[image.shape[1] - 1, image.shape[0] - 1] += 1
    with pytest.raises(WrongResultError, match=r"in 1 of 9,216 elements, first in \(74, 66\)"):
        case.check(shot, (image, out))


def test_words_of_two_numbers_are_compared_as_numbers():
    case = CASES["matmul_vectorised, odd"]
    shot = case.shot("small")
    a, b, _ = (x.view(np.float32) for x in shot.args)
    right = (a.astype(np.float64) @ b).astype(np.float32)
    case.check(shot, (a, b, right.view(np.int64)))
    right[3, 4] += 1
    with pytest.raises(WrongResultError, match=r"in 1 of .* first in \(3, 4\)"):
        case.check(shot, (a, b, right.view(np.int64)))


def test_a_wrong_kernel_fails_its_case_by_a_plain_launch():
    case = replace(CASES["histogram_global, all equal"], kernel=histogram_racy)
    shot = case.shot("small")
    with pytest.warns(UserWarning, match="race"):
        there = case.run(shot)
    with pytest.raises(WrongResultError, match="histogram_global, all equal: argument 1 is wrong"):
        case.check(shot, there)


def test_a_size_that_a_case_has_not_is_refused():
    with pytest.raises(BadInput, match="large"):
        CASES["scan_blelloch, 64 values"].shot("large")


@pytest.mark.usefixtures("_compiler")
def test_every_kernel_compiles_for_the_types_of_each_of_its_launches():
    kinds = {}
    for case in CASES.values():
        kinds[case.kernel, types.void(*map(typeof, case.shot("small").args))] = case.name
    assert len(kinds) > len(package_kernels())
    for (kernel, signature), name in kinds.items():
        assert ".visible .entry" in compile_to_ptx(kernel, signature), name
