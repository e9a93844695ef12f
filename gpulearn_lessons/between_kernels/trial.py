"""The trial of an answer that is a host program: on the SIMT machine, with what it issued."""

import inspect
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.kernels.reduction import WARP
from gpulearn.kernels.specification import poison
from gpulearn.perf.schedule import Timeline, modeled
from simt.core.findings import Finding, SimtWarning
from simt.device import numba_cuda
from simt.host import api
from simt.host.dispatcher import Kernel
from simt.host.streams import Event
from simt.host.work.operations import StreamOperation, record_work

GPU = "T4"
WORKS = ("copy-in", "copy-out", "kernel")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class StreamOutcome:
    out: Array  # what its output held when it returned
    later: Array  # what it held when all that it had asked for was done
    race: str  # the first race between streams, as a sentence, or ""
    # each operation: its kind, the number of its stream in the order in which they came, which
    # operations it came after, whether the host waited for it, and how much it was of: bytes, or
    # the shapes that a kernel was given
    asked: tuple[Any, ...]
    default: bool  # whether a copy or a kernel was on the default stream
    pageable: bool  # whether pageable memory was copied
    timeline: Timeline  # the modeled times
    label: str  # of the case
    polled: bool  # whether the host asked an event, once at least, if it had happened
    changed: str  # the name of an input that holds something else afterwards, or ""
    warps: int  # how many its kernels were launched with

    @property
    def kernels(self) -> int:
        return sum(o[0] == "kernel" for o in self.asked)

    @property
    def waits(self) -> int:
        """How often the host waited before it had issued all copies and kernels.

        A host that queries an event again and again waits too.
        """
        works = [i for i, o in enumerate(self.asked) if o[0] in WORKS]
        return sum(o[3] for o in self.asked[: works[-1]]) + self.polled if works else 0


def run(answer: Answer, case: Case) -> StreamOutcome:
    """Try a program on a case's arrays, in pinned memory; the last of them is the output."""
    arguments = [pinned(a) if isinstance(a, np.ndarray) else a for a in case.args]
    output = next(a for a in reversed(arguments) if isinstance(a, np.ndarray))
    output[...] = poison(output.dtype)
    with warnings.catch_warnings(), record_work(counters=True) as work, polls() as polled:
        warnings.simplefilter("ignore", SimtWarning)  # what is wrong is seen in the result
        try:
            machines(answer)(*arguments)
        except BaseException:
            api.synchronize()  # what it has asked for needs its arrays
            raise
        out = output.copy()
    streams: dict[int, int] = {}
    asked = tuple(
        (
            o.kind,
            streams.setdefault(o.stream, len(streams)),
            o.after,
            o.host_waits,
            o.bytes or tuple(shape for _, shape in o.arguments.values()),
        )
        for o in work
    )
    return StreamOutcome(
        out=out,
        later=output.copy(),
        race=first_race(work.findings),
        asked=asked,
        default=any(o.stream == 0 for o in work if o.kind in WORKS),
        pageable=any(o.pinned is False for o in work),
        timeline=modeled(work, GPU),
        label=case.label,
        polled=bool(polled),
        changed=changed(answer, arguments, case.args, output),
        warps=sum(map(warps, work)),
    )


def first_race(findings: Sequence[Finding]) -> str:
    """The first race between streams, as a sentence, or "".

    Where its line has several, the one with the last line: who waits for that waits for all.
    """
    if not findings:
        return ""
    first = findings[0]
    alike = [f for f in findings if (f.line, f.array) == (first.line, first.array)]
    return str(max(alike, key=lambda finding: finding.other_line or 0))


@contextmanager
def polls() -> Iterator[list[bool]]:
    """What events answer when they are asked whether they have happened."""
    said: list[bool] = []
    own = Event.query

    def query(self: Event) -> bool:
        said.append(own(self))
        return said[-1]

    with patch.object(Event, "query", query):
        yield said


def changed(answer: Answer, args: list[Any], before: tuple[Any, ...], output: Array) -> str:
    """The name of the first input that is not what it was, or ""."""
    for name, now, was in zip(inspect.signature(answer).parameters, args, before, strict=False):
        if isinstance(now, np.ndarray) and now is not output and not np.array_equal(now, was):
            return name
    return ""


def warps(operation: StreamOperation) -> int:
    """How many warps a kernel is launched with; none where it is no kernel."""
    if operation.grid is None or operation.block is None:
        return 0
    return int(np.prod(operation.grid)) * -(-int(np.prod(operation.block)) // WARP)


def pinned(array: Array) -> Array:
    """A copy in pinned memory."""
    copy: Array = api.pinned_array(array.shape, array.dtype)
    copy[...] = array
    return copy


def machines(answer: Answer) -> Answer:
    """The answer with the SIMT machine's `cuda` and kernels in place of a GPU's."""
    real, names = numba_cuda.load(), dict(getattr(answer, "__globals__", {}))
    changed = {}
    for name, value in names.items():
        if value is real:
            changed[name] = api
        elif hasattr(value, "py_func") and not isinstance(value, Kernel):
            changed[name] = api.jit(value.py_func)
    if not changed:
        return answer
    function: Any = answer
    return types.FunctionType(
        function.__code__, names | changed, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip


def difference(got: Any, expected: Array) -> str | None:
    assert isinstance(got, StreamOutcome)
    if got.race:
        return got.race
    if compare.arrays(got.out, expected):
        if compare.arrays(got.later, expected) is None:
            missing = int((got.out != expected).sum())
            return (
                f"when the function returns, {missing:,} of {expected.size:,} values have not "
                f"arrived in out: the host does not wait for all of them"
            )
        return f"out: {compare.arrays(got.later, expected)}"
    if not got.kernels:
        return "out is right, but the host computed it: launch a kernel on the GPU"
    if got.changed:
        return f"it writes to {got.changed}, which is an input"
    return None


def alike(one: Any, other: Any) -> bool:
    """Whether two programs asked for the same, in the same order, and left the same."""
    if not isinstance(one, StreamOutcome) or not isinstance(other, StreamOutcome):
        return False
    ways = [(outcome.asked, outcome.polled, outcome.changed) for outcome in (one, other)]
    return ways[0] == ways[1] and all(
        compare.arrays(a, b) is None for a, b in ((one.out, other.out), (one.later, other.later))
    )
