"""Random right kernels: no race, no index out of bounds; an unset variable is 0.

`program(choose)` writes one kernel as source; `choose(n)` picks below n, so that both
hypothesis (which then shrinks) and a plain generator can drive it. Every thread owns
slot `i` of the outputs; other threads meet only in shared arrays between barriers and in
atomics that commute. Every operation rounds as IEEE says, so results compare exactly.
"""

import math
from dataclasses import dataclass

import numpy as np

from .grammar_arrays import FILL, MORE, MORE_OUTPUTS, Arrays, more_arguments
from .grammar_expressions import Choose, Scope

BLOCKS: list[tuple[int, ...]] = [(1,), (7,), (32,), (33,), (48,), (64,), (8, 4), (5, 7), (4, 3, 3)]
GRIDS: list[tuple[int, ...]] = [(1,), (2,), (3,), (2, 2), (5,), (3, 2)]
CHUNKS = [1000, 1, 2, 3, 4]  # blocks carried out together: with most grids the last are fewer
INPUTS = {
    "f4": "float32",
    "f8": "float64",
    "i4": "int32",
    "i8": "int64",
    "i2": "int16",
    "u1": "uint8",
    "u4": "uint32",
}
OUTPUTS = {"of4": "float32", "of8": "float64", "oi4": "int32", "oi8": "int64", "ou1": "uint8"}
BINS = {"add8": "int64", "addf": "float32", "max4": "int32", "or4": "uint32"}
NAMES = [*INPUTS, *OUTPUTS, *BINS, *MORE, *MORE_OUTPUTS, "n", "x"]


@dataclass
class Program:
    """A kernel's source with the launch it is meant for."""

    source: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    chunk: int  # threads carried out together

    @property
    def threads(self) -> int:
        return math.prod(self.grid) * math.prod(self.block)

    def arguments(self, seed: int = 0) -> list[np.ndarray | np.generic | int | float]:
        """Inputs, outputs and scalars, in the order of the kernel's parameters."""
        rng = np.random.default_rng(seed)
        args: list[np.ndarray | np.generic | int | float] = []
        for kind in INPUTS.values():
            low = 0 if kind.startswith("u") else -8
            whole = rng.integers(low, 9, self.threads)
            part = rng.integers(0, 4, self.threads) / 4 if kind.startswith("f") else 0
            args.append((whole + part).astype(kind))
        args += [np.zeros(self.threads, kind) for kind in OUTPUTS.values()]
        args += [np.zeros(8, kind) for kind in BINS.values()]
        args += more_arguments(self.threads, rng)
        return [*args, int(rng.integers(1, 6)), float(rng.integers(-9, 9)) / 2]


class Writer(Arrays):
    """Writes one program, a line at a time."""

    # --- statements --------------------------------------------------------------

    def block(self, scope: Scope, depth: int, statements: int) -> None:
        self.indent += 1
        for _ in range(1 + self.choose(statements)):
            self.statement(scope, depth)
        self.indent -= 1

    def assign(self, scope: Scope) -> None:
        if self.choose(2):
            value, known, letter = self.integer(scope), scope.ints, "k"
        else:
            value, known, letter = self.real(scope), scope.floats, "r"
        if known and self.choose(2):
            op = self.pick(["=", "=", "+=", "-=", "*="])
            self.say(f"{self.pick(known)} {op} {value}")
        else:
            new = self.name(letter)
            self.say(f"{new} = {value}")
            known.append(new)

    def unpack(self, scope: Scope) -> None:
        a, b = self.name("k"), self.name("r")
        form = self.choose(4)
        if form == 0 and self.helpers["pair"]:
            self.say(f"{a}, {b} = pair0({self.integer(scope, 1)}, {self.real(scope, 1)})")
        elif form == 1:
            whole = self.name("p")
            self.say(f"{whole} = ({self.integer(scope, 1)}, {self.real(scope, 1)})")
            self.say(f"{a}, {b} = {whole}")
        elif form == 2 and len(scope.ints) > 1:
            first, second = self.pick(scope.ints), self.pick(scope.ints)
            self.say(f"{first}, {second} = {second} + 0, {first} + 1")
            return
        else:
            self.say(f"{a}, {b} = {self.integer(scope, 1)}, {self.real(scope, 1)}")
        scope.ints.append(a)
        scope.floats.append(b)

    def branch(self, scope: Scope, depth: int) -> None:
        self.say(f"if {self.condition(scope)}:")
        inner = scope.inner()
        self.block(inner, depth - 1, 2)
        if self.choose(3) == 0:
            self.say(f"elif {self.condition(scope)}:")
            self.block(scope.inner(), depth - 1, 2)
        if self.choose(2):
            self.say("else:")
            self.block(scope.inner(), depth - 1, 2)
        self.escape(inner, scope)

    def escape(self, inner: Scope, scope: Scope) -> None:
        """Now and then, later statements use a variable that only some threads have set."""
        if self.choose(4) == 0:
            scope.ints += inner.ints[len(scope.ints) :]
            scope.floats += inner.floats[len(scope.floats) :]

    def loop(self, scope: Scope, depth: int) -> None:
        inner = scope.inner(loop=True)
        form = self.choose(7 if self.in_kernel else 6)
        k = self.name("k")
        if form == 6:
            inner = self.over_array(scope)
        elif form == 5:
            self.say(f"{k} = 0")
            self.say("while True:")
            self.say(f"    {k} += 1")
            self.say(f"    if {k} > ({self.integer(scope, 1)}) % 5:")
            self.say("        break")
        elif form == 4:  # the count goes down first, so that `continue` cannot hang
            self.say(f"{k} = {self.integer(scope, 1)} % 5")
            self.say(f"while {k} > 0:")
            self.indent += 1
            self.say(f"{k} -= 1")
            self.indent -= 1
        elif form == 3:
            self.say(f"for {k} in (2, 3, 5):")
        else:
            count = f"({self.integer(scope, 1)}) % 5"
            step = 1 + self.choose(2)
            spans = [count, f"{self.choose(3)}, {count}", f"{count}, -1, -{step}"]
            if self.in_kernel:
                spans.append("n")
            self.say(f"for {k} in range({self.pick(spans)}):")
            inner.ints.append(k)
        self.block(inner, depth - 1, 3)
        if form not in (4, 5) and self.choose(4) == 0:
            self.say("else:")
            self.block(scope.inner(), depth - 1, 1)
        self.escape(inner, scope)

    def atomic(self, scope: Scope) -> None:
        slot = f"({self.integer(scope, 1)}) % 8"
        choice = self.choose(4)
        value = self.integer(scope, 1)
        if choice == 0:
            self.say(f"cuda.atomic.add(add8, {slot}, {value})")
        elif choice == 1:  # whole numbers below 2**24: any order gives the same sum
            self.say(f"cuda.atomic.add(addf, {slot}, float(({value}) % 16))")
        elif choice == 2:
            self.say(f"cuda.atomic.max(max4, {slot}, np.int32({value}))")
        else:
            self.say(f"cuda.atomic.or_(or4, {slot}, np.uint32(({value}) & 255))")

    def store(self, scope: Scope) -> None:
        out = self.pick(list(OUTPUTS))
        value = self.real(scope) if out.startswith("of") else self.integer(scope)
        op = self.pick(["=", "=", "+="])
        self.say(f"{out}[i] {op} {value}")

    def statement(self, scope: Scope, depth: int) -> None:
        form = self.choose(18 if self.in_kernel else 14)
        if form > 13:
            [self.of_complex, self.of_complex, self.of_record, self.of_view][form - 14](scope)
        elif form < 3 or (depth == 0 and form < 7):
            self.assign(scope)
        elif form == 3:
            self.unpack(scope)
        elif form < 7:
            self.branch(scope, depth)
        elif form < 9 and depth > 0:
            self.loop(scope, depth)
        elif form == 9 and scope.loop:
            self.say(f"if {self.condition(scope)}:")
            self.say(f"    {self.pick(['break', 'continue'])}")
        elif form == 10 and scope.leave and scope.loop:
            self.say(f"if {self.condition(scope)}:")
            self.say(f"    {scope.leave}")
        elif form == 11 and scope.locals:
            place = f"{self.pick(scope.locals)}[({self.integer(scope, 0)}) % 4]"
            self.say(f"{place} = {self.real(scope, 1)}")
        elif form == 12 and self.in_kernel:
            self.atomic(scope)
        elif self.in_kernel:
            self.store(scope)
        else:
            self.assign(scope)

    # --- meeting others ----------------------------------------------------------

    def exchange(self, scope: Scope, threads: int, number: int, left: bool) -> None:
        """Write my slot, wait, read another's, wait: all threads of a block that have not left."""
        kind = self.pick(["float32", "int32", "float64", "int64"])
        real = kind.startswith("f")
        value = self.real(scope) if real else self.integer(scope)
        form = self.choose(5)
        tile, mine, base = f"s{number}", "t", ""
        if left or self.choose(3) == 0:  # the block's own part of an output: set for all
            tile, mine, base = ("of4" if real else "oi8"), "i", "i - t + "
        else:
            self.say(f"{tile} = cuda.shared.array({threads}, numba.{kind})")
        new = self.name("r" if real else "k")
        self.say(f"{new} = {'0.0' if real else '0'}")
        if form == 1:
            counts = ["n", "3", "n % 3", "cuda.blockIdx.x", "(cuda.blockIdx.x + n) % 3"]
            self.say(f"for q{number} in range({self.pick(counts)}):")
        elif form == 2:
            self.say(f"if {self.pick(['n', 'cuda.blockIdx.x', 'cuda.gridDim.x'])} > 1:")
        deep = form in (1, 2)
        self.indent += deep
        if form == 4:
            self.tree(tile, mine, threads, value, f"q{number}")
        shift = self.pick(["1", "n", "n * 3", str(threads - 1)])
        other = f"{base}(t + {shift}) % {threads}"
        if form == 3:
            self.say(f"{new} = swap0({tile}, {mine}, {other}, {value})")
        elif form < 3:
            self.say(f"{tile}[{mine}] = {value}")
            if self.choose(4) == 0:
                self.say(f"{tile}[{mine}] += 1")
            self.say("cuda.syncthreads()")
        if form != 3:
            self.say(f"{new} = {tile}[{other}]")
            self.say("cuda.syncthreads()")
        if form == 1 and self.choose(2):
            self.say(f"if n > {self.choose(6)}:")
            self.say("    break")
        self.indent -= deep
        (scope.floats if real else scope.ints).append(new)

    def tree(self, tile: str, mine: str, threads: int, value: str, s: str) -> None:
        """A sum over the block in rounds, each half as many threads as the last."""
        self.say(f"{tile}[{mine}] = {value}")
        self.say("cuda.syncthreads()")
        self.say(f"{s} = 1")
        self.say(f"while {s} < {threads}:")
        self.say(f"    if t % (2 * {s}) == 0 and t + {s} < {threads}:")
        self.say(f"        {tile}[{mine}] += {tile}[{mine} + {s}]")
        early = self.choose(2)
        lines = [f"    {s} *= 2", "    cuda.syncthreads()"]
        for line in lines if early else reversed(lines):
            self.say(line)

    def helper(self, kind: str) -> None:
        n = self.helpers[kind]
        word = {"int": "whole", "float": "part", "pair": "pair"}[kind]
        letters = {"int": "kk", "float": "rr", "pair": "kr"}[kind]
        a, b = letters[0] + "a", letters[1] + "b"
        scope = Scope(leave=None)
        (scope.ints if letters[0] == "k" else scope.floats).append(a)
        (scope.ints if letters[1] == "k" else scope.floats).append(b)

        def answer() -> str:
            whole, part = self.integer(scope, 1), self.real(scope, 1)
            return {"int": whole, "float": part, "pair": f"({whole}) + 0, ({part}) + 0.0"}[kind]

        self.lines += ["@cuda.jit(device=True)", f"def {word}{n}({a}, {b}):"]
        for _ in range(self.choose(3)):
            self.statement(scope, 1)
        self.say(f"if {self.condition(scope)}:")
        self.say(f"    return {answer()}")
        self.say(f"return {answer()}")
        self.lines.append("")
        self.helpers[kind] += 1


SWAP = """@cuda.jit(device=True)
def swap0(tile, mine, other, value):
    tile[mine] = value
    cuda.syncthreads()
    got = tile[other]
    cuda.syncthreads()
    return got
"""


def program(choose: Choose) -> Program:
    """One random kernel, named `kernel`."""
    w = Writer(choose)
    block, grid = BLOCKS[choose(len(BLOCKS))], GRIDS[choose(len(GRIDS))]
    for kind in ("int", "float", "pair"):
        if choose(3) == 0:
            w.helper(kind)
    w.lines += [SWAP, FILL]
    w.in_kernel = True
    w.lines.append(f"def kernel({', '.join(NAMES)}):")
    threads = math.prod(block)
    w.say("t = cuda.threadIdx.x + cuda.blockDim.x * (")
    w.say("    cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)")
    w.say(f"i = t + {threads} * (cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y)")
    scope = Scope()
    if choose(3) == 0:
        shape, kind = w.pick(["4", "SIZE", "(SIZE,)"]), w.pick(["float32", "float64"])
        w.say(f"box = cuda.local.array({shape}, numba.{kind})")
        w.say("for j in range(4):")
        w.say(f"    box[j] = {w.real(scope, 1)}")
        scope.locals.append("box")
    left = False
    for number in range(choose(3)):
        for _ in range(choose(3)):
            w.statement(scope, 2)
        if choose(4) == 0:
            w.say(f"if {w.condition(scope)}:")
            w.say("    return")
            left = True
        w.exchange(scope, threads, number, left)
    scope.leave = "return"  # after the last barrier a thread may leave
    for _ in range(1 + choose(5)):
        w.statement(scope, 2)
    for out in OUTPUTS:
        if choose(2):
            w.say(f"{out}[i] = {w.real(scope) if out.startswith('of') else w.integer(scope)}")
    w.store(scope)
    return Program("\n".join(w.lines) + "\n", grid, block, CHUNKS[choose(len(CHUNKS))] * threads)
