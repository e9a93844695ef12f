"""Unchecked launches of Numba kernels: machine code of what Numba's compiler makes of them."""

from functools import partial
from typing import Any

import numpy as np

from simt.core.findings import Finding
from simt.core.memory import views
from simt.core.source import read
from simt.frontend.program import Program
from simt.machine.execution import LaunchResult, launch

Triple = tuple[int, int, int]
MAX_SHAPES = 1024  # of checked launches that are remembered


class UncheckedLaunches:
    """The unchecked launches of a kernel for one set of argument types.

    `left` says why they are the machine's, if they are.
    """

    def __init__(self, program: Program, arguments: tuple[Any, ...] | None) -> None:
        self.program = program
        self.arguments = arguments
        self.left = "" if arguments is not None else "its types are not known"
        self.ptx: Any = None
        self._clean: set[Any] = set()  # shapes of checked launches
        self._warned = False

    def __call__(
        self, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int
    ) -> LaunchResult:
        """One launch: by machine code if it can be, else by the machine."""
        from simt.numba_ptx.kernel import parameters
        from simt.ptx.native.launch import launch_native

        machine = partial(launch, self.program, grid, block, values, dynamic=dynamic)
        given = tuple(parameters(values))
        if self.ptx is None and not self.left:
            self._compile(len(given))
        if self.left:
            return machine()
        result = launch_native(self.ptx, grid, block, given, dynamic, machine)
        self.left = self.ptx.native.get("left", "")
        if result is None:
            return machine()
        result.findings += self._warning(grid, block, values)
        return result

    def _compile(self, count: int) -> None:
        """Has the kernel compiled, which takes `count` parameters."""
        from simt.numba_ptx.codegen import unfused_ptx
        from simt.numba_ptx.kernel import program
        from simt.ptx.native.launch import MAX_REASON, left_to_executor

        source = self.program.source
        try:
            if self.program.debug:
                raise ValueError("made with debug=True, it may raise exceptions")
            if not self._means_the_same():
                raise ValueError("a name in it no longer stands for what it did")
            self.ptx = program(unfused_ptx, source, self.arguments or (), count)
            if len(self.ptx.function.params) != count:
                raise ValueError("its arguments reach the compiler's code in another way")
            self.ptx.reached |= {view.name: view.allocation for view in self.program.captured}
        except Exception as error:  # whatever a compiler cannot do, the machine can
            self.left = " ".join(str(error).split())[:MAX_REASON] or type(error).__name__
            left_to_executor[source.name] = self.left

    def _means_the_same(self) -> bool:
        """Whether all names in the kernel stand for what they stood for when it was taken."""
        now = Program(read(self.program.source.function))
        if now.refused is not None:
            return False
        before = self.program.names()
        return all(_same(thing, before.get(key)) for key, thing in now.names().items())

    def mark_checked(self, grid: Triple, block: Triple, values: tuple[Any, ...]) -> None:
        """Notes that a checked launch has shown no error."""
        if len(self._clean) < MAX_SHAPES:
            self._clean.add(_shapes(grid, block, values))

    def _warning(self, grid: Triple, block: Triple, values: tuple[Any, ...]) -> list[Finding]:
        """The finding that such a launch has never been checked; given once."""
        if self._warned or _shapes(grid, block, values) in self._clean:
            return []
        self._warned = True
        message = (
            f"{self.program.source.name} ran as machine code, and nobody has looked for races "
            "or uninitialized reads: a launch of these shapes has never been checked"
        )
        return [Finding("unchecked", None, message)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    return a is b or (type(a) is type(b) and isinstance(a, int | float | complex | str) and a == b)


def _shapes(grid: Triple, block: Triple, values: tuple[Any, ...]) -> Any:
    return grid, block, tuple(view.shape for value in values for view in views(value))
