"""Programs on several streams: their results, and that nothing in them is left to chance."""

import numpy as np
import pytest

from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn_lessons.between_kernels.overlap import (
    AFTER_SEASONS,
    GROWTH,
    SEASONS,
    pipeline_copies,
    wait_for_event,
)
from simt.host.work.operations import record_work


def pinned(values):
    made = cuda.pinned_array(values.shape, values.dtype)
    made[:] = values
    return made


def test_the_reference_is_the_map_step_by_step():
    x = y = 0.3
    for _ in range(SEASONS):
        y = GROWTH * y * (1 - y)
    assert AFTER_SEASONS.reference(np.array([x]))[0].tolist() == [y]


@pytest.mark.parametrize(("n", "chunks"), [(1, 1), (10, 3), (7, 7), (1000, 4)])
def test_chunks_on_streams_give_what_one_launch_gives_and_nothing_races(n, chunks):
    values = pinned(np.random.default_rng(1).random(n))
    out = pinned(np.full(n, np.nan))
    with record_work() as work:
        pipeline_copies(values, out, chunks)
        np.testing.assert_allclose(out, AFTER_SEASONS.reference(values)[0], rtol=1e-12)
    assert not work.findings
    assert len({one.stream for one in work if one.kind == "kernel"}) == chunks


def test_the_sum_waits_for_both_streams_and_the_host_once():
    a, b = (pinned(np.random.default_rng(seed).random(300)) for seed in (1, 2))
    out = pinned(np.full(300, np.nan))
    with record_work() as work:
        wait_for_event(a, b, out)
        np.testing.assert_array_equal(out, a + b)
    assert not work.findings
    assert [one.kind for one in work if one.host_waits] == ["synchronize"]


@pytest.mark.parametrize("chunks", [0, 1.5])
def test_chunks_that_cannot_be_are_refused(chunks):
    values = pinned(np.zeros(3))
    with pytest.raises(BadInput, match=f"chunks is {chunks}"):
        pipeline_copies(values, values, chunks)
