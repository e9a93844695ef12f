"""Launches of Triton kernels by Triton's interpreter, and what their programs load and store."""

from __future__ import annotations

import inspect
import json
import os
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partialmethod
from typing import Any, NamedTuple

import numpy as np

from gpulearn_lessons.frameworks import availability
from gpulearn_lessons.frameworks.processes import CallResult, run_or_recall
from simt.observers.traffic import SECTOR

# `triton` and `triton.language` where Triton is not loaded: enough to define a kernel
STAND_INS: Any = (
    types.SimpleNamespace(jit=lambda function: function),
    types.SimpleNamespace(constexpr=int),
)


class TileReport(NamedTuple):
    """What the programs of a launch load and store, in bytes; atomic operations are left out.

    A load or store of a tile moves each sector of 32 bytes that it touches once; each tensor
    begins with a sector.
    """

    loaded: int
    stored: int
    findings: list[str]  # accesses outside of all tensors, and races between programs
    error: float  # the largest difference from what was expected

    def __str__(self) -> str:
        moved = f"{self.loaded:,} bytes loaded, {self.stored:,} stored"
        return "\n".join([f"{moved}, largest difference {self.error:g}", *self.findings])


def triton_interpreter() -> tuple[Any, Any]:
    """The modules `triton` and `triton.language`, whose kernels are interpreted from now on.

    Where Triton is not installed, stand-ins: kernels can be defined with them, not launched.
    """
    if availability.missing(["triton"]):
        return STAND_INS[0], STAND_INS[1]
    os.environ["TRITON_INTERPRET"] = "1"  # read at the import, and where a kernel is defined
    import triton
    import triton.language as tl
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    InterpretedFunction.__wrapped__ = property(lambda kernel: kernel.fn)  # `inspect` follows it
    for place in (tl, tl.standard, tl.tensor):  # torch may have imported it, to compile
        for name, function in vars(place).copy().items():
            if isinstance(function, JITFunction):
                kernel = InterpretedFunction(function.fn)
                setattr(place, name, partialmethod(kernel) if place is tl.tensor else kernel)
    return triton, tl


class Watch:
    """Notes each access to some tensors, and keeps the interpreter from any other memory."""

    def __init__(self, tensors: Mapping[str, Any], programs: int) -> None:
        self.tensors, self.programs = tensors, programs
        self.moved = {"load": 0, "store": 0}
        self.outside: dict[str, str] = {}
        self.seen: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)

    def inside(self, act: str, addresses: Any, mask: Any, program: int) -> Any:
        """Where an access is to one of the tensors."""
        wanted, addresses = np.broadcast_to(mask, addresses.shape), addresses.astype(np.int64)
        inside = np.zeros_like(wanted)
        for name, tensor in self.tensors.items():
            offset = addresses - tensor.data_ptr()
            element = offset // tensor.element_size()
            own = wanted & (element >= 0) & (element < tensor.numel())
            inside |= own
            self.moved[act] += SECTOR * len(np.unique(offset[own] // SECTOR))
            self.seen[name, act].append(element[own] * self.programs + program)
        if outside := int((wanted & ~inside).sum()):
            text = f"program {program} {act}s {outside} elements outside of all tensors"
            self.outside.setdefault(act, text)
        return inside

    def races(self) -> Iterator[str]:
        """The tensors in which a program stores what another program loads or stores."""
        for name, tensor in self.tensors.items():
            load, store = (np.unique(np.hstack([[], *self.seen[name, act]])) for act in self.moved)
            used, count = np.unique(np.union1d(load, store) // self.programs, return_counts=True)
            shared = used[(count > 1) & np.isin(used, store // self.programs)].astype(int)
            if shared.size:
                index = ", ".join(map(str, np.unravel_index(shared[0], tensor.shape)))
                yield (
                    f"{name}[{index}] is stored by one program and used by another, and nothing "
                    f"orders the two ({shared.size:,} in all)"
                )


def launch(kernel: Callable[..., Any], grid: tuple[int, ...], *args: Any, **sizes: Any) -> Watch:
    """Launch a kernel on torch tensors of the CPU; in a grid, programs count as in row-major order.

    Raises:
        Exception: what the kernel raised in the interpreter.
    """
    triton, tl = triton_interpreter()
    import torch
    from triton.runtime import interpreter

    plain = inspect.unwrap(kernel)  # and a copy, since the interpreter adds names to its globals
    names = {**plain.__globals__, "triton": triton, "tl": tl}
    copy = types.FunctionType(plain.__code__, names, plain.__name__)
    copy.__annotations__ = plain.__annotations__
    bound = inspect.signature(plain).bind(*args, **sizes)
    given = {name: value for name, value in bound.arguments.items() if hasattr(value, "data_ptr")}
    most = max(tensor.numel() for tensor in given.values())
    tensors = {}  # copies, so far apart that a wrong index ends between them
    for name, tensor in given.items():
        middle = torch.empty(9 * most, dtype=tensor.dtype)[4 * most :][: tensor.numel()]
        tensors[name] = bound.arguments[name] = middle.view(tensor.shape).copy_(tensor)
    watch, builder = Watch(tensors, int(np.prod(grid))), interpreter.interpreter_builder

    def watched(act: str, step: Callable[..., Any], mask: int) -> Callable[..., Any]:
        def access(pointers: Any, *rest: Any) -> Any:
            program = int(np.ravel_multi_index(builder.grid_idx, builder.grid_dim))
            inside = watch.inside(act, pointers.data, rest[mask].data, program)
            masks = interpreter.TensorHandle(inside, tl.int1)
            return step(pointers, *rest[:mask], masks, *rest[mask + 1 :])

        return access

    builder.create_masked_load = watched("load", builder.create_masked_load, 0)
    builder.create_masked_store = watched("store", builder.create_masked_store, 1)
    try:
        triton.jit(copy)[grid](*bound.args, **bound.kwargs)
    except interpreter.InterpreterError as error:
        raise error.__cause__ or error from None
    finally:
        del builder.create_masked_load, builder.create_masked_store
    for name, tensor in given.items():
        tensor.copy_(tensors[name])
    return watch


@dataclass(frozen=True)
class TileXray:
    """`TileXray(kernel, expected)[grid](*args)` launches a Triton kernel and reports on it.

    The last tensor among the arguments is compared with `expected`. Where Triton is not installed,
    the report is the recorded one of the same launch. A line of output says which.
    """

    kernel: Callable[..., Any]
    expected: Any

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., TileReport]:
        def report(*args: Any, **sizes: Any) -> TileReport:
            def execute() -> CallResult:
                watch = launch(self.kernel, grid, *args, **sizes)
                findings = [*watch.outside.values(), *watch.races()]
                error = (list(watch.tensors.values())[-1] - self.expected).abs().max().item()
                return CallResult(json.dumps([*watch.moved.values(), findings, error]), "")

            given = [arg.numpy().copy() if hasattr(arg, "numpy") else arg for arg in args]
            call = inspect.unwrap(self.kernel), [list(grid), *given, sizes]
            return TileReport(*run_or_recall("triton", "triton", *call, execute))

        return report
