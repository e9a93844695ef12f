"""Every mistake on the list is found: its kind, its line, its threads."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import simt
from simt import cuda

from . import wrong_barriers, wrong_code, wrong_memory, wrong_races
from .harness import findings, launch, line, only, threads, to_device, xray
from .wrong import Mistake

CASES: list[Mistake] = [
    *wrong_memory.CASES,
    *wrong_races.CASES,
    *wrong_barriers.CASES,
    *wrong_code.CASES,
]
STOPPING = [case for case in CASES if case.stops]
WARNING = [case for case in CASES if not case.stops and case.kind != "float64-leak"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_finding_names_kind_line_and_threads_and_does_not_drown_in_echoes(
    case: Mistake,
) -> None:
    report = xray(case.kernel, case.grid, case.block, *case.args())
    errors = {f.kind for f in report.findings if f.severity == "error"}
    assert errors <= {case.kind}, [str(f) for f in report.findings]
    assert report.ok is (case.kind in ("negative-index", "float64-leak", "left-before-barrier"))
    assert 1 <= len(findings(report, case.kind)) <= 3, report.findings
    message = findings(report, case.kind)[0].message
    assert 15 < len(message) < 400, message
    for internal in ("Traceback", "simt", "object at 0x", "nopython frontend"):
        assert internal not in message, message
    finding = findings(report, case.kind)[0]
    if case.array is not None and finding.array != case.array:
        finding = next(f for f in findings(report, case.kind) if f.array == case.array)
    lines = {finding.line, finding.other_line}
    wanted = {line(case.kernel, mark) for mark in case.marks}
    if case.kind == "not-a-kernel":
        assert not wanted or finding.line in wanted, f"{finding.line} is none of {wanted}"
    else:
        assert wanted <= lines, f"{wanted} are not among lines {lines}"
    if case.guilty is not None:
        assert case.guilty(threads(finding)), finding.threads
    if case.array is not None:
        assert finding.array == case.array
    if case.index is not None:
        assert case.index(tuple(finding.index), threads(finding)[0]), finding.index


@pytest.mark.parametrize("case", STOPPING, ids=lambda c: c.name)
def test_what_cannot_go_on_stops_a_plain_launch_and_the_next_one_works(case: Mistake) -> None:
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(case.kernel, case.grid, case.block, *case.args())
    assert case.kind in [f.kind for f in caught.value.report.findings]
    assert not caught.value.report.ok
    assert "\n\n\n" not in str(caught.value)
    out = wrong_code.f4(32)
    launch(wrong_code.one_argument_too_many, 1, 32, out)
    assert (out == 1).all()


@pytest.mark.parametrize("case", WARNING, ids=lambda c: c.name)
def test_what_can_go_on_warns_with_its_lines(case: Mistake) -> None:
    args = to_device(case.args())
    with pytest.warns(UserWarning, match="line") as caught:
        cuda.jit(case.kernel)[case.grid, case.block](*args)
    text = " ".join(str(w.message) for w in caught)
    for mark in case.marks:
        assert str(line(case.kernel, mark)) in text, text


def test_numpy_arguments_are_copied_and_said_to_be() -> None:
    a = wrong_code.f4(32)
    report = simt.xray(wrong_code.one_argument_too_many)[1, 32](a)
    finding = only(report, "implicit-copy")
    assert finding.severity == "warning"
    assert finding.message == (
        "out is a host array: 128 bytes go to the device and back at every launch; "
        "copy once: cuda.to_device(out)"  # fits into one line of JupyterLab
    )
    assert report.ok
    assert (a == 1).all()


AGAIN = """
import numpy as np
from simt import cuda
from tests.simt import wrong_races
kernel = cuda.jit(wrong_races.race_between_warps)
out = cuda.to_device(np.ones(64, np.float32))
for _ in range(3):
    kernel[1, 64](out)
"""


def test_the_warning_comes_at_every_launch() -> None:
    """Python's default shows a warning once per place: not enough for a cell that is rerun."""
    done = subprocess.run(
        [sys.executable, "-c", AGAIN],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stderr.count("race on s[") == 3, done.stderr


def count_without_atomics(bins, x):
    bins[x[cuda.grid(1)]] += 1


def test_a_plain_launch_says_once_what_is_wrong_with_a_line() -> None:
    """The update races by its read and by its write: a learner needs one sentence."""
    bins, x = np.zeros(4, np.int32), np.arange(128, dtype=np.int32) % 4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cuda.jit(count_without_atomics)[2, 64](*to_device((bins, x)))
    assert len(caught) == 1
    assert len(findings(xray(count_without_atomics, 2, 64, bins, x), "race")) == 2


@pytest.mark.parametrize("number", ["a", 1.5, -1, True])
def test_a_seed_is_a_whole_number(number: object) -> None:
    with pytest.raises(
        simt.errors.BadInput, match=f"block_order is {number!r}: give a whole number, 0 or more"
    ):
        simt.block_order(number).__enter__()
