"""The machine at hand: its roof, the points below it, and the clock that finds both."""

from contextlib import contextmanager

import pytest
import torch

from gpulearn.errors import BadInput
from gpulearn.perf import measured_roof
from gpulearn.perf.roofline import Roof
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import Neighbors
from simt.device import selection

HERE = Provenance("measured", "here")
PAPER = Roof("a machine on paper", peak=1000.0, bandwidth=50.0, provenance=HERE)


@pytest.mark.parametrize(
    ("copy", "add", "bandwidth"),
    [((4.0, 2.0), (9.0, 9.0), 8000 / 2.0), ((4.0, 2.0), (2.0, 2.4), 12000 / 2.0)],
)
def test_bandwidth_counts_what_is_read_and_what_is_written(monkeypatch, copy, add, bandwidth):
    times = iter([copy, add])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr(
        measured_roof, "fastest", lambda f, seconds: (f(), (min(next(times)), HERE))[1]
    )
    assert measured_roof.memory_bandwidth(1000) == bandwidth


def test_one_thread_is_tried_as_well_as_all(monkeypatch):
    threads, used = [4], []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", threads.append)

    def timed(call, seconds):
        used.append(threads[-1])
        return {1: 1.0, 4: 2.0}[threads[-1]], HERE

    monkeypatch.setattr(measured_roof, "fastest", timed)
    assert measured_roof.memory_bandwidth(1000) == 12000
    assert (sorted(set(used)), threads[-1]) == ([1, 4], 4)


@pytest.fixture
def neighbors(monkeypatch):
    """Says for each round whether other programs disturb; None left is an error."""
    rounds = []

    @contextmanager
    def watch():
        yield Neighbors(1.0 if rounds.pop(0) else 0.0)

    monkeypatch.setattr(measured_roof, "watch_neighbors", watch)
    monkeypatch.setattr(measured_roof, "peak_rate", lambda: 1e11 * (1 + len(rounds)))
    monkeypatch.setattr(measured_roof, "memory_bandwidth", lambda: 2e10)
    return rounds


@pytest.mark.parametrize(
    ("rounds", "peak", "origin"),
    [
        ([False], 1e11, "measured here"),
        ([True, False], 2e11, "measured here"),
        ([True, True], 2e11, "measured here, while busy"),
    ],
)
def test_a_disturbed_roof_is_measured_again_once(neighbors, rounds, peak, origin):
    neighbors += rounds
    roof = measured_roof.measured_roof()
    assert (roof.peak, roof.ridge, roof.origin) == (peak, peak / 2e10, origin)
    assert selection.cpu_name() in roof.name
    assert neighbors == []


def test_the_best_of_all_sizes_of_products_counts(monkeypatch):
    times = iter([1e-3, 1.0])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr(measured_roof, "fastest", lambda f, seconds: (f(), (next(times), HERE))[1])
    assert measured_roof.peak_rate(sizes=(8, 16)) == 2 * 8**3 / 1e-3


def test_work_is_timed_and_placed(monkeypatch):
    monkeypatch.setattr(measured_roof, "fastest", lambda f: (2.0, HERE))
    found = measured_roof.roof_point("work", lambda: None, flops=400.0, bytes_moved=100.0)
    assert (found.intensity, found.rate) == (4.0, 200.0)
    assert found.share(PAPER) == 1.0  # 4 · 50
    with pytest.raises(BadInput, match="bytes_moved is 0"):
        measured_roof.roof_point("work", lambda: None, flops=400.0, bytes_moved=0)
