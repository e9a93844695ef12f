"""Random programs of streams, copies, kernels and events, and which of their orders CUDA allows.

`python -m tests.simt.stream_programs --cases 5000` is the long mode; the tests run some hundreds.
The oracle keeps, for each operation, the set of all that come before it, by the rules of the CUDA
documentation: it knows nothing of clocks, and carries an order out on plain NumPy arrays.
"""

import argparse
import itertools
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import simt
from simt import cuda
from simt.host.work.operations import record_work

from . import sources

N = 6  # elements of an array
DEVICE, PINNED = ("d0", "d1", "d2"), ("h0", "h1")
# the legacy default stream by two names (numba waits for copies with the first), and others
STREAMS = ("0", "legacy", "s1", "s2", "own")
DEFAULT = {"0": "legacy"}
HEAD = """\
def program():
    s1, s2 = cuda.stream(), cuda.stream()
    legacy, own = cuda.default_stream(), cuda.per_thread_default_stream()
    e0, e1 = cuda.event(), cuda.event()
    h0, h1 = cuda.pinned_array(N), cuda.pinned_array(N)
    h0[:], h1[:] = range(N), range(N, 2 * N)
    d0, d1, d2 = (cuda.to_device(np.arange(N) + 10.0 * k) for k in range(3))
    seen = []
"""
TAIL = """\
    cuda.synchronize()
    return [d0.copy_to_host(), d1.copy_to_host(), d2.copy_to_host(), h0, h1, *seen]
"""


@cuda.jit
def mix(a, b):
    """Where the same kernel runs, twice is not once."""
    i = cuda.grid(1)
    if i < b.size:
        b[i] = 2 * b[i] + a[i]


Memory = dict[str, np.ndarray[Any, Any]]
Cells = set[tuple[str, int]]


@dataclass
class Step:
    """One operation of a stream, with those that must come before it."""

    line: int
    stream: str
    before: set[int] = field(default_factory=set)
    reads: Cells = field(default_factory=set)
    writes: Cells = field(default_factory=set)
    effect: Callable[[Memory], None] = lambda memory: None
    blocks: bool = False


class Program:
    """A program as text, and its operations."""

    STREAMS = STREAMS
    APART: tuple[str, ...] = ()  # streams that the legacy default stream does not wait for
    STAGED = False  # whether a copy from pageable memory may be under way when its call returns

    def __init__(self, seed: int, length: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.steps: list[Step] = []
        self.host: set[int] = set()  # what the host has waited for
        self.events: dict[str, int] = {}
        self.outputs = 0
        makers = [self.kernel] * 3 + [self.copy_in, self.copy_out, self.inside] * 2
        makers += [self.pageable_in, self.pageable_out, self.host_writes, self.synchronize]
        makers += [self.record, self.wait] * self.draw.choice([1, 4])
        self.streams = self.draw.sample(self.STREAMS, 3)
        while len(self.lines) < length:
            self.draw.choice(makers)()

    @property
    def source(self) -> str:
        """The program's text."""
        return HEAD + "".join(f"    {line}\n" for line in self.lines) + TAIL

    # --- what it is made of

    def part(self, names: tuple[str, ...], size: int | None = None) -> tuple[str, str, slice]:
        """A text, the array's name, and its part."""
        name = self.draw.choice(names)
        size = size or self.draw.choice([N, N // 2, N // 3])
        start = self.draw.randrange(0, N - size + 1)
        return f"{name}[{start}:{start + size}]", name, slice(start, start + size)

    def issue(
        self, text: str, stream: str, writes: Any = None, reads: Any = (),
        effect: Callable[[Memory], None] = lambda memory: None, blocks: bool = False,
    ) -> None:  # fmt: skip
        """The rules of streams: the order of each, and that of the legacy default stream."""
        stream = DEFAULT.get(stream, stream)
        before = set(self.host)
        for number, other in enumerate(self.steps):
            if self.alike(stream, other.stream):
                before |= {number} | other.before
        self.lines.append(text)
        line = HEAD.count("\n") + len(self.lines)
        step = Step(line, stream, before, set(), set(), effect, blocks)
        for cells, parts in ((step.reads, reads), (step.writes, [writes] if writes else [])):
            for name, where in parts:
                cells |= {(name, k) for k in range(N)[where]}
        self.steps.append(step)
        if blocks:
            self.host |= {len(self.steps) - 1} | before

    def alike(self, one: str, other: str) -> bool:
        """Whether work on two streams is in order."""
        both = {one, other}
        return one == other or ("legacy" in both and not both & set(self.APART))

    def of_stream(self, stream: str) -> list[int]:
        """What the host has waited for who waits for a stream."""
        stream = DEFAULT.get(stream, stream)
        everything = stream == "legacy"
        return [
            n for n, o in enumerate(self.steps)
            if o.stream == stream or (everything and self.alike(stream, o.stream))
        ]  # fmt: skip

    def wait_for(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.host |= {number} | self.steps[number].before

    def stream(self) -> str:
        return self.draw.choice(self.streams)

    def kernel(self) -> None:
        (a, name, there), s = self.part(DEVICE), self.stream()
        b, other, here = self.part(tuple(n for n in DEVICE if n != name), there.stop - there.start)

        def effect(m: Memory) -> None:
            m[other][here] = 2 * m[other][here] + m[name][there]

        to, of = (other, here), (name, there)
        self.issue(f"mix[1, 32, {s}]({a}, {b})", s, to, [of, to], effect)

    def copy(self, form: str, target: Any, source: Any, *, waits: bool) -> None:
        (a, name, here), (b, other, there), s = target, source, self.stream()

        def effect(m: Memory) -> None:
            m[name][here] = m[other][there]

        text = form.format(a=a, b=b, s=s)
        self.issue(text, s, (name, here), [(other, there)], effect, waits and s == "0")

    def copy_in(self) -> None:
        target = self.part(DEVICE)
        source = self.part(PINNED, target[2].stop - target[2].start)
        self.copy("{a}.copy_to_device({b}, stream={s})", target, source, waits=True)

    def copy_out(self) -> None:
        target = self.part(PINNED)
        source = self.part(DEVICE, target[2].stop - target[2].start)
        self.copy("{b}.copy_to_host({a}, stream={s})", target, source, waits=True)

    def inside(self) -> None:
        a, name, here = self.part(DEVICE)
        others = tuple(n for n in DEVICE if n != name)
        source = self.part(others, here.stop - here.start)
        self.copy("{a}.copy_to_device({b}, stream={s})", (a, name, here), source, waits=False)

    def pageable_in(self) -> None:
        (a, name, here), s, value = self.part(DEVICE), self.stream(), float(len(self.lines))

        def effect(m: Memory) -> None:
            m[name][here] = value

        size = here.stop - here.start
        text = f"{a}.copy_to_device(np.full({size}, {value}), stream={s})"
        if s == "0" and self.STAGED:
            self.wait_for(self.of_stream(s))
        self.issue(text, s, (name, here), (), effect, s == "0" and not self.STAGED)

    def pageable_out(self) -> None:
        (a, name, here), s, key = self.part(DEVICE), self.stream(), f"seen{self.outputs}"
        self.outputs += 1

        def effect(m: Memory) -> None:
            m[key] = m[name][here].copy()

        text = f"seen.append({a}.copy_to_host(stream={s}))"
        self.issue(text, s, (key, slice(0, 1)), [(name, here)], effect, blocks=True)

    def record(self) -> None:
        event, s = self.draw.choice(["e0", "e1"]), self.stream()
        self.issue(f"{event}.record({s})", s)
        self.events[event] = len(self.steps) - 1

    def wait(self) -> None:
        event, s = self.draw.choice(["e0", "e1"]), self.stream()
        self.issue(f"{event}.wait({s})", s)
        if event in self.events:
            number = self.events[event]
            self.steps[-1].before |= {number} | self.steps[number].before

    def synchronize(self) -> None:
        whom = self.draw.choice(["all", "event", "stream"])
        if whom == "event":
            event = self.draw.choice(["e0", "e1"])
            known = [self.events[event]] if event in self.events else []
            text = f"{event}.synchronize()"
        else:
            s = "all" if whom == "all" else self.stream()
            name = DEFAULT.get(s, s)
            text = "cuda.synchronize()" if s == "all" else f"{name}.synchronize()"
            known = [*range(len(self.steps))] if s == "all" else self.of_stream(s)
        self.lines.append(text)
        self.wait_for(known)

    def host_writes(self) -> None:
        """The host writes to pinned memory, where all that uses it is done."""
        a, name, here = self.part(PINNED)
        cells = {(name, k) for k in range(N)[here]}
        for number, step in enumerate(self.steps):
            if number not in self.host and cells & (step.reads | step.writes):
                return
        value = -float(len(self.lines))

        def effect(m: Memory) -> None:
            m[name][here] = value

        # as an operation of a stream that all that comes later waits for
        self.lines.append(f"{a} = {value}")
        line = HEAD.count("\n") + len(self.lines)
        self.steps.append(Step(line, "host", set(self.host), set(), cells, effect, blocks=True))
        self.host |= {len(self.steps) - 1}

    # --- what may come of it

    def races(self) -> set[tuple[int, int]]:
        """The lines of each two operations that nothing orders and of which one writes."""
        found = set()
        for (i, a), (j, b) in itertools.combinations(enumerate(self.steps), 2):
            clash = a.writes & (b.reads | b.writes) or a.reads & b.writes
            if clash and i not in b.before:
                found.add((a.line, b.line))
        return found

    def result(self, order: list[int]) -> list[np.ndarray[Any, Any]]:
        """The arrays after the operations in an order."""
        memory = {f"d{k}": np.arange(N) + 10.0 * k for k in range(3)}
        memory |= {f"h{k}": np.arange(N) + float(N * k) for k in range(2)}
        for number in order:
            self.steps[number].effect(memory)
        return [memory[name] for name in (*DEVICE, *PINNED)] + [
            memory[f"seen{k}"] for k in range(self.outputs)
        ]

    def random_order(self) -> list[int]:
        """One order that is allowed."""
        order: list[int] = []
        while len(order) < len(self.steps):
            ready = [
                n for n, s in enumerate(self.steps) if n not in order and s.before <= set(order)
            ]
            order.append(self.draw.choice(ready))
        return order

    def orders(self, done: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
        """All orders that are allowed."""
        if len(done) == len(self.steps):
            yield done
        for number, step in enumerate(self.steps):
            if number not in done and step.before <= set(done):
                yield from self.orders((*done, number))


def carried_out(program: Program, seed: int) -> tuple[list[Any], set[tuple[int, int]]]:
    """What the machine makes of it: the arrays, and the lines of its races."""
    main = sources.module(program.source, cuda, mix=mix, N=N).program
    with warnings.catch_warnings(), simt.block_order(seed), record_work() as work:
        warnings.simplefilter("error")
        got = main()
    kinds = {f.kind for f in work.findings}
    assert kinds <= {"stream-race"}, kinds
    return got, {(f.other_line or 0, f.line or 0) for f in work.findings}


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two results are equal."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def difference(number: int, length: int = 14) -> str | None:
    """What the machine does otherwise than the oracle in one random program."""
    program = Program(number, length)
    got, found = carried_out(program, number % 4)
    races = program.races()
    if found != races:
        return f"races {sorted(races)}, found {sorted(found)}\n{program.source}"
    if not races:
        orders = [list(range(len(program.steps))), program.random_order(), program.random_order()]
        if not all(same(got, program.result(order)) for order in orders):
            return f"another result\n{program.source}"
    return None


def main(argv: list[str] | None = None) -> int:
    """Runs the long mode; the exit status is 1 if a case differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    options = parser.parse_args(argv)
    for number in range(options.first, options.first + options.cases):
        wrong = difference(number, 6 + number % 20)
        if wrong:
            print(f"case {number}: {wrong}", flush=True)
            return 1
    print(f"{options.cases} programs, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
