"""`xray(kernel)[grid, block](*args)`: a launch under the lens, which gives a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from simt.core.registry import python_function
from simt.errors import BadInput, BadLaunch
from simt.host.dispatcher import Configured, Kernel
from simt.host.gufuncs import Gufunc
from simt.host.reduction import Reduce
from simt.host.ufuncs import Ufunc
from simt.host.work.launches import PreparedLaunch, carry_out_on_stream
from simt.host.work.prepared import Prepared
from simt.host.work.queue import work_queue
from simt.report.report import Report


@runtime_checkable
class Launchable(Protocol):
    """A kernel of another front end, which prepares its launches itself."""

    __name__: str

    def prepare(
        self, grid: Any, block: Any, args: tuple[Any, ...], sharedmem: int = 0, *,
        xray: bool = False, watch: int | tuple[int, ...] = 0,
    ) -> Prepared:  # fmt: skip
        """A launch with its arguments taken, to be carried out now or when its turn comes."""


class XRay:
    """A kernel that waits for its launch configuration."""

    def __init__(self, kernel: Kernel | Launchable, block: int | tuple[int, ...]) -> None:
        self._kernel = kernel
        self._block = block

    def __call__(self, *args: Any) -> None:
        """A launch needs a shape.

        Raises:
            BadLaunch: always.
        """
        name = self._kernel.__name__
        raise BadLaunch(f"a launch needs a shape: write xray({name})[blocks, threads](...)")

    def __getitem__(self, configuration: Any) -> Callable[..., Report]:
        kernel: Any = self._kernel
        configured = Configured(kernel, configuration)

        def launch(*args: Any, **kwargs: Any) -> Report:
            prepared: Prepared
            if isinstance(self._kernel, Kernel):
                prepared = PreparedLaunch(
                    self._kernel, configured.grid, configured.block, args, configured.sharedmem,
                    xray=True, watch=self._block, named=kwargs,
                )  # fmt: skip
            else:
                prepared = self._kernel.prepare(
                    configured.grid, configured.block, args, configured.sharedmem,
                    xray=True, watch=self._block,
                )  # fmt: skip
            if work_queue.direct(configured.stream) or prepared.stopped is not None:
                return prepared.carry_out()[0]
            return carry_out_on_stream(self._kernel, prepared, configured.stream)

        return launch


def as_kernel(kernel: Any) -> Kernel | Launchable:
    """What can be launched under the lens: a kernel of any front end, or a plain function.

    Raises:
        BadInput: if `kernel` is none of these.
    """
    if isinstance(kernel, Kernel | Launchable):
        return kernel
    if isinstance(kernel, Ufunc | Gufunc | Reduce):
        raise BadInput(
            f"xray needs a kernel, and {getattr(kernel, '__name__', 'this')} launches kernels of "
            "its own: write the loop over elements as a kernel, or call it, and findings are told"
        )
    function = python_function(kernel)
    if function is None and callable(kernel) and hasattr(kernel, "__code__"):
        function = kernel
    if function is None:
        raise BadInput(
            f"xray needs a kernel or a function, got {type(kernel).__name__}: "
            "write xray(kernel)[blocks, threads](...)"
        )
    return Kernel(function)


def xray(kernel: Any, *, block: int | tuple[int, ...] = 0) -> XRay:
    """`xray` of what the source says."""
    return XRay(as_kernel(kernel), block)
