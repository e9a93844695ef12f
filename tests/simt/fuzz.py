"""Random kernels, on the machine and on the reference: every number must agree.

`python -m tests.simt.fuzz --cases 2000` is the long mode; the tests run a few hundred.
"""

import argparse
import copy
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import simt
from simt import cuda
from simt.errors import KernelError
from simt.frontend import typecheck
from simt.machine import execution

from . import grammar, reference, reference_types, sources
from .harness import launch, xray

Run = Callable[..., Any]
UNSET = "to which nothing was assigned"
NO_TYPE = "it is not set"  # Numba drops its only assignment: the compiler may take any value
LEFT = "returned before this barrier"
FAST = "ran as machine code"


def _xray(kernel: Any, grid: Any, block: Any, *args: Any) -> None:
    report = xray(kernel, grid, block, *args)
    errors = [f.message for f in report.findings if f.severity == "error"]
    if any(NO_TYPE in message for message in errors):
        raise KernelError(errors[-1])
    wrong = [message for message in errors if UNSET not in message]
    assert not wrong, wrong


def _plain(kernel: Any, grid: Any, block: Any, *args: Any, checked: bool = True) -> None:
    with warnings.catch_warnings():
        # mixed arithmetic is what the grammar is for: a leak of float64 is no mistake here
        warnings.filterwarnings("ignore", message=f".*(float64|{UNSET}|{LEFT}|{FAST}).*")
        launch(kernel, grid, block, *args, checked=checked)


def _unchecked(kernel: Any, grid: Any, block: Any, *args: Any) -> None:
    """A launch by machine code, if there is some."""
    kernel = cuda.jit(kernel)
    _plain(kernel, grid, block, *args, checked=False)
    (overload,) = kernel.overloads.values()
    if overload.unchecked.left:
        left_to_the_machine[overload.unchecked.left] += 1


def _reordered(kernel: Any, grid: Any, block: Any, *args: Any) -> None:
    with simt.block_order(7):
        _plain(kernel, grid, block, *args)


RUNS: list[Run] = [_xray, _plain, _unchecked, _reordered]
left_to_the_machine: Counter[str] = Counter()  # why, of unchecked launches


def difference(program: grammar.Program, cases: list[tuple[int, Run]]) -> str | None:
    """What differs between machine and reference, in words; None if nothing does.

    A case is the seed of the data and the way to run; the kernel is the same for all.
    """
    kernel = sources.module(program.source, cuda).kernel
    known: dict[int, list[Any]] = {}
    for seed, run in cases:
        got = program.arguments(seed)
        try:
            if seed not in known:
                known[seed] = copy.deepcopy(got)
                reference.run(kernel, program.grid, program.block, *known[seed])
        except Exception as error:  # Numba's classes have another home in numba-cuda
            if type(error).__name__ not in ("TypingError", "UnsupportedError", "NotLowered"):
                raise
            # Numba drops branches that constants close, and the variables they set
            return _refused(kernel, program, got)
        one_verdict = patch.object(typecheck, "type_annotation", reference_types.annotation)
        with one_verdict, patch.object(execution, "CHUNK", program.chunk):
            try:
                run(kernel, program.grid, program.block, *got)
            except KernelError as error:
                if NO_TYPE in str(error):
                    return None
                raise
        wrong = _compare(got, known[seed])
        if wrong and not _reads_unset(kernel, program, seed):
            return f"{run.__name__.strip('_')}, data {seed}: {wrong}"
    reference_types.forget()
    return None


def _reads_unset(kernel: Any, program: grammar.Program, seed: int) -> bool:
    """Whether a variable is read that its thread never set: a compiler may take anything for it.

    Numba closes `if k >= 1:` where `k = 1` is all that is assigned to k, reached or not.
    """
    report = xray(kernel, program.grid, program.block, *program.arguments(seed))
    return any(UNSET in finding.message for finding in report.findings)


def _refused(kernel: Any, program: grammar.Program, args: list[Any]) -> str | None:
    report = xray(kernel, program.grid, program.block, *args)
    kinds = [f.kind for f in report.findings]
    return None if "not-a-kernel" in kinds else f"Numba refuses it, the machine finds {kinds}"


def _compare(got: list[Any], want: list[Any]) -> str | None:
    pairs = list(zip(grammar.NAMES, got, want, strict=True))
    for name, a, b in pairs:
        if not isinstance(b, np.ndarray):
            continue
        if b.dtype.names:
            pairs += [(f"{name}.{inner}", a[inner], b[inner]) for inner in b.dtype.names]
        elif not np.array_equal(a, b, equal_nan=b.dtype.kind in "fc"):
            a, b = a.ravel(), b.ravel()
            at = np.flatnonzero((a != b) & ~((a != a) & (b != b)))
            k = int(at[0])
            return f"{name}: {at.size} differ, first [{k}]: machine {a[k]!r}, reference {b[k]!r}"
    return None


def main(argv: list[str] | None = None) -> int:
    """Runs the long mode; the exit status is the number of differing cases, at most 1."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--show", action="store_true", help="print each differing kernel")
    parser.add_argument("--unchecked", action="store_true", help="carry them out by machine code")
    options = parser.parse_args(argv)
    runs = [_unchecked] if options.unchecked else RUNS
    start, different = time.monotonic(), []
    for seed in range(options.first, options.first + options.cases):
        program = grammar.program(random.Random(seed).randrange)
        try:
            with np.errstate(all="ignore"):
                wrong = difference(program, [(seed, runs[seed % len(runs)])])
        except Exception as error:  # one bad case must not hide the next
            wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if wrong:
            different.append(seed)
            print(f"case {seed}: {wrong}", flush=True)
            if options.show:
                print(program.source)
    seconds = time.monotonic() - start
    print(f"{options.cases} random kernels, {len(different)} differ, {seconds:.0f} s")
    for why, count in left_to_the_machine.most_common():
        print(f"{count} left to the machine: {why}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
