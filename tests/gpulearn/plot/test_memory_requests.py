"""Requests to memory: what is drawn and said of them, and what the counters of a report say."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.errors import BadInput
from gpulearn.plot import memory_requests
from gpulearn.plot.memory_requests import access, draw_access, draw_request
from gpulearn.plot.style import figure
from simt.observers.traffic import AWAY


def test_refuses():
    with pytest.raises(BadInput, match=r"stride is 1\.5: give a whole number of elements"):
        access(1.5)
    with pytest.raises(BadInput, match="offset is -3: no element lies before the first"):
        access(1, -3)
    with pytest.raises(BadInput, match="offset is True"):
        access(1, True)
    with pytest.raises(BadInput, match="float32"):
        access(dtype="flaot32")
    with pytest.raises(BadInput, match="numpy.float32"):
        access(dtype=np.float32)


def test_the_sentence_and_the_alt_state_the_finding():
    picture, text = draw_access(2, 0, "float32")
    assert text == (
        "float32, stride 2, offset 0: 8 sectors for one request of a warp, 50 % of 256 bytes "
        "used. Neighbors from offset 0 need 4 sectors."
    )
    assert picture.alt == (
        "Lines lead from 32 lanes to 32 elements of float32 in 8 sectors; 50 % of the sectors' "
        "bytes are asked for."
    )
    assert "12.5 % of 1,024" in draw_access(8, 0, "float32")[1]
    assert "to 1 element of uint8 in 1 sector; 3.12 %" in draw_access(0, 0, "uint8")[0].alt


@pytest.mark.parametrize(
    ("stride", "offset", "title"),
    [(1, 0, "a[k]"), (2, 3, "a[2 * k + 3]"), (0, 0, "a[0]"), (-1, 0, "a[31 - k]"),
     (-2, 1, "a[63 - 2 * k]")],
)  # fmt: skip
def test_the_title_is_the_index(figures_of, stride, offset, title):
    figures = figures_of(memory_requests)
    draw_access(stride, offset, "float32")
    assert figures[0].axes[0].get_title(loc="left").endswith(title)


def test_what_is_drawn_is_one_line_for_each_lane(figures_of):
    figures = figures_of(memory_requests)
    draw_access(3, 0, "float32")
    lines = figures[0].axes[0].lines
    assert len(lines) == 32
    ends = [line.get_xdata()[1] for line in lines]
    assert ends == sorted(ends)


def test_lanes_that_take_no_part_and_words_across_two_sectors_are_drawn():
    with figure() as (_, axes):
        addresses = np.full(32, AWAY)
        addresses[[3, 4]] = 28, 100_000
        draw_request(axes, addresses, 8)
    assert len(axes.lines) == 2
    labels = [text.get_text() for text in axes.texts]
    assert labels[:3] == ["0", "1", "3125"]  # bytes 28 to 35 lie in sectors 0 and 1
    with figure() as (_, axes):
        draw_request(axes, np.full(32, AWAY), 4)
    assert not axes.lines


@pytest.mark.parametrize(
    ("step", "dtype", "words", "conflicts"),
    [
        (1, np.float32, "1 pass, no bank conflict", 0),
        (2, np.float32, "2 passes where 1 would do", 1),
        (1, np.float64, "2 passes, no bank conflict", 0),
        (0, np.float64, "2 passes, no bank conflict", 0),
    ],
)
def test_the_picture_of_a_report_says_what_its_counters_say(step, dtype, words, conflicts):
    @cuda.jit
    def kernel(out):
        s = cuda.shared.array(64, dtype)
        t = cuda.threadIdx.x
        s[t * step % 64] = t
        cuda.syncthreads()
        out[t] = s[0]

    report = xray(kernel)[1, 32](cuda.to_device(np.zeros(32, dtype)))
    assert words in memory_requests.memory_figure(report, "s").alt
    assert report.totals.shared_store_wavefronts == int(words.split()[0])
    assert report.totals.shared_store_conflicts == conflicts
    with pytest.raises(BadInput):
        memory_requests.memory_figure(report, "no_such_array")
