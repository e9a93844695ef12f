"""The reduction-tree player: its rounds are those that the SIMT machine sees."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels import reduction
from gpulearn_lessons.reductions.reduction_figures import FORMS, draw, holdings, rounds, sentence

ADDITIONS = ("s[t] += s[t + step]", "s[place] += s[place + step]", "total += cuda.shfl_down_sync")


def traced(form, threads):
    """Which threads the machine saw adding, round by round, and at which places."""
    kernel = getattr(reduction, f"block_sums_{form}")
    given = cuda.to_device(np.ones(threads, np.float32))
    report = gl.xray(kernel)[1, threads](given, cuda.to_device(np.zeros(1, np.float32)))
    for step in report.steps:
        if any(text in report.source[step.line] for text in ADDITIONS):
            active = frozenset(t for t, on in enumerate(step.active) if on)
            places = {
                (t, e) for touch in step.touches for t, e in enumerate(touch.elements) if e >= 0
            }
            yield active, places


@pytest.mark.parametrize("threads", [64, 128, 256])
@pytest.mark.parametrize("form", FORMS)
def test_the_rounds_are_those_of_the_kernel(form, threads):
    machine = list(traced(form, threads))
    drawn = rounds(form, threads)
    assert [active for active, _ in machine] == [r.active for r in drawn]
    for (_, places), this in zip(machine, drawn, strict=True):
        if not this.by_shuffle:
            wanted = {(t, p) for t, into, other in this.adds for p in (into, other)}
            assert places == wanted


@pytest.mark.parametrize("form", FORMS)
def test_no_value_is_lost_and_the_last_round_holds_all(form):
    every = rounds(form, 64)
    for number in range(len(every)):
        assert sum(holdings(form, number)) == 64
    assert len(every[-1].useful) == 1


@pytest.mark.parametrize("form", FORMS)
def test_rounds_are_drawn_and_said(form):
    for number in (1, len(rounds(form))):
        picture, text = draw(form, number)
        assert picture.alt == text == sentence(form, number - 1)


def test_passes_are_those_of_the_report():
    kernel = reduction.block_sums_packed
    given = cuda.to_device(np.ones(256, np.float32))
    report = gl.xray(kernel)[1, 256](given, cuda.to_device(np.zeros(1, np.float32)))
    assert report.totals.shared_load_conflicts > 0
    assert max(r.passes for r in rounds("packed", 256)) == 8
    assert all(r.passes == 1 for r in rounds("sequential", 256))
