"""`measure` is honest, says where its numbers come from, and refuses nonsense."""

import itertools
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn.perf import timing
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import (
    Measurement,
    Neighbors,
    fastest,
    format_seconds,
    measure,
    watch_neighbors,
)
from gpulearn.plot.recorders.measuring import launch_seconds
from simt.device import selection


class FakeClock:
    """A clock that stands still but when a nap moves it on: a busy machine changes nothing."""

    def __init__(self):
        self.seconds = 0.0

    def nap(self, seconds):
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(timing, "perf_counter", lambda: clock.seconds)
    return clock


def test_the_first_call_is_kept_apart_and_the_others_are_repeated_until_they_settle(clock):
    """Spread in the first repeats asks for more of them; a steady call ends early."""
    naps = itertools.chain([0.1], itertools.cycle([0.004, 0.002]))
    unsettled = measure(lambda: clock.nap(next(naps)), seconds=0.5)
    steady = measure(lambda: clock.nap(0.002), seconds=0.5)
    assert unsettled.first == pytest.approx(0.1)
    assert "not stable" in str(unsettled)
    assert sum(unsettled.times) >= 0.5 > 2 * sum(steady.times)
    assert steady.median == pytest.approx(0.002)
    assert steady.provenance.kind == "measured"
    assert measure(lambda: clock.nap(0.05), seconds=0.01).times == pytest.approx([0.05] * 3)


def test_a_short_call_is_timed_in_blocks_and_longer_ones_on_a_gpu(monkeypatch, clock):
    calls = []

    def call():
        calls.append(1)
        clock.nap(1.5e-3)

    assert measure(call, seconds=0.01).times == pytest.approx([1.5e-3] * 3)
    assert len(calls) == 1 + 1 + 3 * 2  # the first, one that is too short, three blocks of two
    FakeGpu(monkeypatch, clock)
    calls.clear()
    assert fastest(call, seconds=0.02)[0] == pytest.approx(1.5e-3)
    assert len(calls) == 1 + 1 + 2 + 4 * 4


def test_the_fastest_of_all_repeats_counts(clock):
    naps = [9.0, 3.0, 2.5, 4.0, 1.0]  # a first call, then 8 seconds of them
    assert fastest(lambda: clock.nap(naps.pop(0)), seconds=8.0)[0] == 2.5
    assert naps == [1.0]


class FakeGpu:
    """Launches return at once; `synchronize` waits for all of them, 10 ms each."""

    def __init__(self, monkeypatch, clock):
        self.launched = 0
        self.clock = clock
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a fake GPU")
        monkeypatch.setattr(torch.cuda, "synchronize", self.synchronize)

    def launch(self):
        self.launched += 1

    def synchronize(self):
        waiting, self.launched = self.launched, 0
        self.clock.nap(0.01 * waiting)


def test_work_that_goes_on_after_the_call_is_waited_for(monkeypatch, clock):
    gpu = FakeGpu(monkeypatch, clock)
    found = measure(gpu.launch, seconds=0.1)
    assert found.first == pytest.approx(0.01)
    assert found.median == pytest.approx(0.01)
    assert found.provenance.where == f"{selection.cpu_name()} with a fake GPU"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert measure(lambda: clock.nap(0.01), seconds=0.01).provenance.where == selection.cpu_name()


def test_the_gpu_has_work_while_the_host_launches(monkeypatch, clock):
    """The host's 10 ms before a launch count only if the GPU has nothing to do meanwhile."""
    done = [0.0]  # when the GPU will have finished all that is in its queue

    def enqueue(seconds):
        done[0] = max(done[0], clock.seconds) + seconds

    class QueuedEvent:
        def __init__(self, enable_timing):
            self.at = 0.0

        def record(self):
            enqueue(0.0)
            self.at = done[0]

        def elapsed_time(self, other):
            return (other.at - self.at) * 1e3

    def launch():
        clock.nap(0.0001)
        enqueue(0.00002)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: clock.nap(done[0] - clock.seconds))
    monkeypatch.setattr(torch.cuda, "Event", QueuedEvent)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda ticks: enqueue(ticks / 2e9))
    monkeypatch.setattr(selection, "torch_gpu", lambda: True)
    assert launch_seconds(launch) == pytest.approx(0.00002)


def test_the_clock_waits_for_torch_and_for_our_kernels(monkeypatch, clock):
    """Also where torch is a build without CUDA and numba has a GPU."""
    waited = []
    kernels = SimpleNamespace(synchronize=lambda: waited.append("kernels"))
    monkeypatch.setitem(sys.modules, "gpulearn.cuda", kernels)
    timing.now()
    assert waited == ["kernels"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append("torch"))
    timing.now()
    assert sorted(waited) == ["kernels", "kernels", "torch"]
    monkeypatch.delitem(sys.modules, "gpulearn.cuda")
    timing.now()  # a process that has launched no kernel is not made to load numba
    assert len(waited) == 4


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: measure(42), "measure was given 42, which cannot be called"),
        (lambda: measure(print, seconds=0), "seconds is 0: give a number above zero"),
        (lambda: measure(print, seconds=float("nan")), "seconds is nan"),
        (lambda: measure(lambda x: x), "<lambda> needs arguments: give measure a function of none"),
        (lambda: timing.time_correctly(print, print, repeats=2.5), "repeats is 2.5: give a whole"),
    ],
)
def test_nonsense_is_refused(monkeypatch, call, sentence):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadInput, match=sentence):
        call()


def test_measurement_prints_units_and_origin():
    found = Measurement((1e-3, 2e-3, 3e-3), 0.5, Provenance("measured", "a T4"))
    assert found.median == 2e-3
    assert str(found) == "2 ms (median of 3, spread 1 ms, not stable; measured here on a T4)"


@pytest.mark.parametrize(
    ("provenance", "text"),
    [
        (Provenance("measured", "a T4"), "measured here on a T4"),
        (Provenance("measured", "a T4", busy=True), "measured here on a T4, while busy"),
        (Provenance("recorded", "an H200", "2026-11-01"), "recorded on an H200, 2026-11-01"),
        (Provenance("modeled", "the T4's roofline"), "modeled by the T4's roofline"),
    ],
)
def test_provenance_reads_as_a_sentence(provenance, text):
    assert str(provenance) == text


@pytest.mark.parametrize(("share", "busy"), [(0.02, False), (0.5, True)])
def test_a_busy_machine_is_part_of_the_label(monkeypatch, share, busy):
    @contextmanager
    def neighbors():
        yield Neighbors(share)

    monkeypatch.setattr(timing, "watch_neighbors", neighbors)
    assert measure(lambda: None, seconds=0.01).provenance.busy == busy


def test_neighbors_are_other_processes():
    """Busy children are seen as such, our own work is not."""
    burn = "import time\nend = time.time() + 20\nwhile time.time() < end: pass"
    children = [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(psutil.cpu_count())]
    try:
        time.sleep(0.3)
        with watch_neighbors() as found:
            time.sleep(0.5)
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert found.share > 0.5
    assert found.disturb


def test_our_own_work_is_no_neighbor(monkeypatch):
    """By a clock of our own: 1 s in which the system used 1.5 s of CPU, 1.4 s of them ours."""
    readings = iter([(100.0, 10.0, 0.0), (101.5, 11.4, 1.0)])
    monkeypatch.setattr(timing, "_cpu_time", lambda psutil: next(readings))
    monkeypatch.setattr("psutil.cpu_count", lambda: 2)
    with watch_neighbors() as found:
        pass
    assert found.share == pytest.approx(0.05)
    assert not found.disturb


@given(st.floats(1e-12, 1e5))
def test_durations_keep_their_value(seconds):
    number, unit = format_seconds(seconds).split()
    scale = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * scale == pytest.approx(seconds, rel=6e-3)
