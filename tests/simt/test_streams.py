"""Streams: one test for each rule of their order, and for each mistake with them."""

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.core.findings import SimtWarning
from simt.errors import BadInput, KernelError
from simt.host.work.operations import record_work
from simt.host.work.queue import MAX_QUEUED, work_queue

N = 64


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += a[i]


@cuda.jit
def add(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += a[i]


@cuda.jit
def add_from(a, out, first, count):
    i = first + cuda.grid(1)
    if i < first + count:
        out[i] += a[i]


@cuda.jit
def count_up(total):
    cuda.atomic.add(total, 0, 1)


@cuda.jit
def beyond(a):
    a[cuda.grid(1) + 1] = 0


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work_queue.finish()
    assert work_queue.direct(0)
    _kept.clear()


_kept: list[np.ndarray] = []  # to the end of a test, as a copy that is under way needs it


def pinned(value: float, *, kept: bool = True) -> np.ndarray:
    made = cuda.pinned_array(N, np.float32)
    made[:] = value
    if kept:
        _kept.append(made)
    return made


def on_device(value: float, n: int = N) -> Any:
    return cuda.to_device(np.full(n, value, np.float32))


# --- what orders


@pytest.mark.parametrize("wait", ["stream", "event", "device", "context", "query", "with"])
def test_each_way_to_wait(wait: str) -> None:
    stream, event, target = cuda.stream(), cuda.event(), pinned(-1)
    device = on_device(3)
    with stream.auto_synchronize() if wait == "with" else warnings.catch_warnings():
        double[1, N, stream](device)
        device.copy_to_host(target, stream=stream)
        event.record(stream)
        assert (target == -1).all()
        if wait == "query":
            assert [event.query(), event.query()] == [False, True]
    for way, call in {
        "stream": stream.synchronize, "event": event.synchronize, "device": cuda.synchronize,
        "context": cuda.get_current_device().synchronize,
    }.items():  # fmt: skip
        if wait == way:
            call()
    assert (target == 6).all()
    assert event.query()
    assert work_queue.direct(0)  # the host knows of it


def test_each_thread_has_a_default_stream_of_its_own() -> None:
    device = on_device(1)
    own = double[1, N, cuda.per_thread_default_stream()]
    own(device)
    other = threading.Thread(target=own, args=(device,))
    other.start()
    other.join()
    with pytest.warns(SimtWarning, match="on the per-thread default stream .*nothing says which"):
        cuda.synchronize()


def test_work_outlives_its_stream() -> None:
    target = pinned(0)
    on_device(5).copy_to_host(target, stream=cuda.stream())
    gc.collect()
    assert (target == 0).all()
    cuda.synchronize()
    assert (target == 5).all()


def test_views_are_bound_to_the_stream_that_they_are_asked_for() -> None:
    one, other = cuda.stream(), cuda.stream()
    device = cuda.device_array((2, N), np.float32, stream=one)
    views = [device.ravel(), device.squeeze(), device[0], device.reshape(N, 2), *device[0].split(9)]
    assert {view.stream for view in views} == {one}
    views = [device.ravel(stream=other), device.squeeze(stream=other), device.bind(other)]
    views += device[0].split(9, stream=other)
    assert {view.stream for view in views} == {other}


# --- copies


def test_copies_of_pageable_memory_block_the_host() -> None:
    stream, host, target = cuda.stream(), np.ones(N, np.float32), np.zeros(N, np.float32)
    device = cuda.to_device(host, stream=stream)
    host[:] = 9  # staged already
    device.copy_to_host(target, stream=stream)
    assert (target == 1).all()
    assert (device.copy_to_host(stream=stream) == 1).all()
    assert work_queue.direct(0)


def test_pinned_for_a_block_of_code() -> None:
    stream, target = cuda.stream(), np.zeros(N, np.float32)
    with cuda.pinned(target):
        on_device(1).copy_to_host(target, stream=stream)
        assert (target == 0).all()
        stream.synchronize()
    assert (target == 1).all()
    with pytest.warns(SimtWarning, match="target was unpinned by the host"), cuda.pinned(target):
        on_device(2).copy_to_host(target, stream=stream)
    assert (target == 2).all()
    on_device(3).copy_to_host(target, stream=stream)  # pageable again
    assert (target == 3).all()


def test_host_arrays_of_a_launch_are_waited_for_unless_they_are_pinned() -> None:
    stream, pageable, kept = cuda.stream(), np.ones(N, np.float32), pinned(1)
    double[1, N, stream](pageable)
    assert (pageable == 2).all()
    double[1, N, stream](kept)
    assert (kept == 1).all()
    stream.synchronize()
    assert (kept == 2).all()


def test_elements_slices_and_assignments_are_copies_too() -> None:
    stream = cuda.stream()
    device = cuda.to_device(pinned(1), stream=stream)
    double[1, N, stream](device)
    device[3:5] = 7  # on the array's stream
    double[1, N, stream](device[:4])
    assert device[3] == 14
    assert device[4] == 7
    double[1, N, stream](device)
    assert (device.reshape(8, 8).T.copy_to_host()[3, 0], device[0]) == (28, 8)


# --- mistakes


def test_a_missing_event_is_found_and_its_wrong_result_seen() -> None:
    one, other, target = cuda.stream(), cuda.stream(), pinned(0)
    source, device, out = pinned(5), on_device(1), on_device(0)
    with record_work() as work:
        device.copy_to_device(source, stream=one)
        add[1, N, other](device, out)
        out.copy_to_host(target, stream=other)
        other.synchronize()
    assert (target == 1).all()  # the copy was not there yet
    (found,) = work.findings
    copied, added = work[0].line, work[1].line
    assert (found.kind, found.severity, found.array) == ("stream-race", "error", "device")
    assert (found.line, found.other_line) == (added, copied)
    assert found.message == (
        f"add on other reads device, which the copy to the device of line {copied} on one writes, "
        f"and nothing says which comes first: record an event on one after line {copied} and let "
        f"other wait for it, event.record(…) and event.wait(…)"
    )
    assert (out.copy_to_host() == 1).all()


def test_a_seed_shows_other_orders_and_finds_the_same() -> None:
    results = set()
    for seed in range(8):
        one, other, device, out = cuda.stream(), cuda.stream(), on_device(1), on_device(0)
        with simt.block_order(seed), record_work() as work:
            double[1, N, one](device)
            add[1, N, other](device, out)
        assert len(work.findings) == 1
        results.add(float(out.copy_to_host()[0]))
    assert results == {1.0, 2.0}


@pytest.mark.parametrize("offsets", [False, True])
def test_chunks_over_streams_are_no_race(offsets: bool) -> None:
    streams = [cuda.stream() for _ in range(3)]
    source, target = pinned(2), pinned(0)
    device, out = cuda.device_array(N, np.float32), on_device(1)
    for k in range(8):
        part, stream = slice(8 * k, 8 * k + 8), streams[k % 3]
        device[part].copy_to_device(source[part], stream=stream)
        if offsets:  # a kernel is judged by what it touches
            add_from[1, 32, stream](device, out, 8 * k, 8)
        else:
            add[1, 32, stream](device[part], out[part])
        out[part].copy_to_host(target[part], stream=stream)
    cuda.synchronize()
    assert (target == 3).all()


def test_reads_and_atomics_of_two_streams_are_no_race() -> None:
    one, other, total = cuda.stream(), cuda.stream(), cuda.to_device(np.zeros(1, np.int32))
    device, first, second = on_device(1), on_device(0), on_device(0)
    for stream, out in ((one, first), (other, second)):
        add[1, N, stream](device, out)
        count_up[2, 32, stream](total)
    cuda.synchronize()
    assert total[0] == 128


def test_a_pinned_array_that_the_host_changes_too_early() -> None:
    stream, source, device = cuda.stream(), pinned(1), on_device(0)
    device.copy_to_device(source, stream=stream)
    source[3] = 8
    with pytest.warns(SimtWarning, match="source was changed by the host after line"):
        stream.synchronize()
    assert device[3] == 8
    target = pinned(0)
    device.copy_to_host(target, stream=stream)
    target[:] = 1
    with pytest.warns(SimtWarning, match="target was changed by the host"):
        stream.synchronize()


def test_a_pinned_array_that_is_freed_too_early() -> None:
    stream, device = cuda.stream(), on_device(0)
    device[:8].copy_to_device(pinned(1, kept=False)[:8], stream=stream)
    gc.collect()
    with pytest.warns(SimtWarning, match="the host array was freed by the host after line"):
        stream.synchronize()
    assert np.isnan(device[0])
    assert device[8] == 0


def test_an_error_comes_to_light_where_the_host_waits() -> None:
    stream, device, target = cuda.stream(), on_device(1), pinned(0)
    beyond[1, N, stream](device)
    device.copy_to_host(target, stream=stream)
    with pytest.raises(KernelError, match=r"out of bounds.*it was launched in line \d+") as caught:
        stream.synchronize()
    assert caught.value.report.findings[0].kind == "out-of-bounds"
    stream.synchronize()  # told once; what came after it was not done
    assert (target == 0).all()
    double[1, N](device)


def test_what_is_no_launch_is_refused_where_it_is_written() -> None:
    stream = cuda.stream()
    with pytest.raises(KernelError, match="takes 1 argument"):
        double[1, N, stream](1, 2)
    with pytest.raises(KernelError, match="2,048 threads|1,024"):
        double[1, 2048, stream](on_device(1))
    assert work_queue.direct(0)


def test_a_number_is_no_stream() -> None:
    with pytest.raises(TypeError, match=r"third value is a stream, and 16 is none.*2, 32, 0, 16\]"):
        double[2, 32, 16]
    for call in (on_device(1).copy_to_host, cuda.event().record, cuda.event().wait):
        with pytest.raises(TypeError, match=r"7 is no stream: make one with stream = cuda.stream"):
            call(stream=7)


def test_unchecked_work_is_done_in_the_order_asked_for_and_not_looked_at() -> None:
    one, other, device, target = cuda.stream(), cuda.stream(), on_device(1), pinned(0)
    with simt.unchecked():
        double[1, N, one](device)
        double[1, N, other](device)
        device.copy_to_host(target, stream=other)
        other.synchronize()
        assert (target == 4).all()  # both are done, in the order in which they were asked for


# --- events, callbacks, reports


def test_times_of_events_that_have_not_happened() -> None:
    stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
    with pytest.raises(BadInput, match="must have been recorded"):
        begin.elapsed_time(end)
    begin.record(stream)
    time.sleep(0.05)  # work of the host's, between events of an idle stream
    end.record(stream)
    with pytest.raises(BadInput, match="has not happened yet"):
        begin.elapsed_time(end)
    end.synchronize()
    assert begin.elapsed_time(end) >= 50


def test_a_callback_comes_after_what_was_asked_for_before_it() -> None:
    stream, target, seen = cuda.stream(), pinned(0), []
    on_device(3).copy_to_host(target, stream=stream)
    stream.add_callback(lambda *given: seen.append((given, float(target[0]))), "argument")
    assert seen == [((stream, 0, "argument"), 3.0)]
    with pytest.warns(UserWarning, match="Exception in stream callback: a callback on a stream"):
        stream.add_callback(lambda *_: cuda.synchronize())


def test_streams_can_be_awaited() -> None:
    async def one(value: float) -> float:
        stream, source, target = cuda.stream(), pinned(value), pinned(0)
        cuda.to_device(source, stream=stream).copy_to_host(target, stream=stream)
        assert await stream.async_done() is stream
        return float(target.mean())

    async def several() -> list[float]:
        canceled = cuda.stream().async_done()
        canceled.cancel()
        return await asyncio.gather(*map(one, (1, 2, 3)))

    with ThreadPoolExecutor(1) as elsewhere:  # a browser's test may have left a loop in this thread
        assert elsewhere.submit(asyncio.run, several()).result() == [1, 2, 3]


def test_xray_on_a_stream_waits_and_reports_whatever_happened() -> None:
    stream, device = cuda.stream(), cuda.to_device(pinned(1))
    double[1, N, stream](device)
    report = simt.xray(double)[2, 32, stream](device)
    assert (report.ok, report.arrays["a"].global_load_sectors) == (True, 16)
    assert device[0] == 4
    report = simt.xray(beyond)[1, N, stream](device)
    assert [f.kind for f in report.findings] == ["out-of-bounds"]


def test_the_record_of_a_program() -> None:
    one, other, event = cuda.stream(), cuda.stream(), cuda.event()
    source, target, out = pinned(1), np.zeros(N, np.float32), on_device(0)
    with record_work(counters=True) as work:
        device = cuda.to_device(source, stream=one)
        event.record(one)
        event.wait(other)
        add[1, N, other](device, out)
        out.copy_to_host(target, stream=other)
        double[2, 32](device)
        cuda.synchronize()
    assert [(w.kind, w.stream_name, w.name, w.after) for w in work] == [
        ("copy-in", "one", "device", ()),
        ("event", "one", "", (0,)),
        ("wait", "other", "", (1,)),
        ("kernel", "other", "add", (2,)),
        ("copy-out", "other", "out", (3,)),
        ("kernel", "the default stream", "double", (4,)),
        ("synchronize", "all streams", "", (4, 5)),
    ]
    assert [(w.bytes, w.pinned, w.host_waits) for w in (work[0], work[4])] == [
        (4 * N, True, False), (4 * N, False, True),
    ]  # fmt: skip
    kernel = work[3]
    assert (kernel.kernel, kernel.grid, kernel.block) == (add, (1, 1, 1), (N, 1, 1))
    assert kernel.arguments == {"a": ("float32", (N,)), "out": ("float32", (N,))}
    assert kernel.report is not None
    assert kernel.report.totals.global_load_sectors == 16
    assert "add[1, N, other]" in kernel.text
    assert work.findings == []


def test_a_queue_that_is_full_makes_the_host_wait() -> None:
    stream, target, device = cuda.stream(), pinned(0), on_device(1)
    device.copy_to_host(target, stream=stream)
    for _ in range(MAX_QUEUED):
        device.copy_to_device(device, stream=stream)
    assert (target == 1).all()
    cuda.synchronize()
    assert work_queue.direct(0)
