"""A report is plain data: it prints, it saves and loads, it stands beside another."""

import html
import json
import re
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda

from .harness import xray


def column_copy(a, out):
    i = cuda.grid(1)
    out[i] = a[i * 32]  # far apart & <slow>


def row_copy(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


def report_of(kernel: Any) -> Any:
    return xray(kernel, 1, 64, np.ones(2048, np.float32), np.zeros(64, np.float32))


def visible(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def racy(a, out):
    out[0] = cuda.grid(1)


@pytest.mark.parametrize("kernel", [column_copy, racy])
def test_json_keeps_everything(kernel: Any) -> None:
    report = report_of(kernel)
    data = json.loads(report.to_json())
    assert data["ok"] == report.ok == (kernel is column_copy)
    assert data["totals"] == vars(report.totals)
    assert data["lines"] == {str(n): vars(counts) for n, counts in report.lines.items()}
    assert data["arrays"] == {name: vars(counts) for name, counts in report.arrays.items()}
    assert [f["message"] for f in data["findings"]] == [f.message for f in report.findings]
    assert data["shares"][2][0] == report.shares.block.most > 0
    assert [s["line"] for s in data["steps"]["steps"]] == [s.line for s in report.steps]


def test_a_difference_is_a_table_of_the_totals_that_differ() -> None:
    text = str(report_of(column_copy).diff(report_of(row_copy)))
    assert re.search(r"^ +column_copy +row_copy +ratio$", text, re.MULTILINE)
    assert re.search(r"^global_load_sectors +64 +8 +0\.12$", text, re.MULTILINE)


def test_text_tells_what_each_sector_once_would_be_if_that_is_counted() -> None:
    report = report_of(column_copy)
    least = f"each sector once: {report.totals.bytes_at_least:,}"
    assert report.totals.bytes_at_least > 0
    assert least in str(report)
    assert least in visible(report._repr_html_())
    report.totals.distinct_sectors = 0
    assert "each sector once" not in str(report)


def test_text_and_html_show_the_source_escaped_and_what_matters() -> None:
    report = report_of(column_copy)
    page = report._repr_html_()
    for shown in (str(report), visible(page)):
        assert "out[i] = a[i * 32]  # far apart & <slow>" in shown
        assert "sectors" in shown
        assert "64" in shown  # 2 warps of 32 sectors
    assert "<slow>" not in page


def test_html_of_a_right_and_of_a_wrong_kernel_differ_in_words_and_in_color() -> None:
    pages = (
        report_of(row_copy)._repr_html_(),
        xray(row_copy, 1, 64, np.ones(40), np.zeros(64))._repr_html_(),
    )
    assert [page.count("background:#c62828") for page in pages] == [0, 2]  # its list and its line
    right, wrong = map(visible, pages)
    assert "out of bounds" in wrong.lower().replace("-", " ")
    assert "out of bounds" not in right.lower().replace("-", " ")


@pytest.mark.parametrize("block", [(64, 1), (40, 1), (16, 3)])
def test_shares_are_those_of_each_thread_counted_by_hand(block: tuple[int, int]):
    @cuda.jit
    def uneven(a, out):
        tile = cuda.shared.array((3, 64), np.float32)
        x, y = cuda.grid(2)
        i = y * cuda.gridsize(2)[0] + x
        for k in range(i % 5):  # a load, and a store into shared memory
            tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[k]
        if i < out.size:
            out[i] = 1

    report = simt.xray(uneven)[(3, 2), block](np.ones(8, np.float32), np.zeros(70))
    wide, high = block
    counted = []  # a list for each block
    for down, across in np.ndindex(2, 3):
        places = [
            (down * high + y) * 3 * wide + across * wide + x for y, x in np.ndindex(high, wide)
        ]
        counted.append([2 * (i % 5) + (i < 70) for i in places])
    threads = [accesses for one in counted for accesses in one]
    warps = [max(one[k : k + 32]) for one in counted for k in range(0, len(one), 32)]
    blocks = [sum(one) for one in counted]
    for share, all_of_them in zip(report.shares, (threads, warps, blocks), strict=True):
        assert share.most == max(all_of_them)
        assert share.mean == pytest.approx(np.mean(all_of_them))


@cuda.jit
def told(a):
    """What it does.

    In two paragraphs.
    """
    a[cuda.threadIdx.x] = 1


def test_a_docstring_costs_nothing_and_is_left_out():
    report = simt.xray(told)[1, 32](cuda.to_device(np.zeros(32, np.float32)))
    for shown in (str(report), report._repr_html_()):
        assert "two paragraphs" not in shown
        assert "def told(a):" in shown
        assert "a[cuda.threadIdx.x] = 1" in shown
