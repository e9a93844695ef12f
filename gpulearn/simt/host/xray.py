"""`gl.xray(kernel)[grid, block](*args)`: a launch under the lens, which gives a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from gpulearn.errors import BadInput, BadLaunch
from gpulearn.simt.core.registry import python_function
from gpulearn.simt.host.dispatcher import Configured, Kernel, run
from gpulearn.simt.host.gufuncs import Gufunc
from gpulearn.simt.host.reduction import Reduce
from gpulearn.simt.host.ufuncs import Ufunc
from gpulearn.simt.report.report import Report

__all__ = ["Launchable", "XRay", "as_kernel", "xray"]


@runtime_checkable
class Launchable(Protocol):
    """A kernel of another front end, which carries its launches out itself."""

    __name__: str

    def launch(
        self, grid: Any, block: Any, args: tuple[Any, ...], sharedmem: int = 0, *,
        xray: bool = False, watch: int | tuple[int, ...] = 0,
    ) -> tuple[Report, Any]:  # fmt: skip
        """One launch: its report, and the finding that stopped it if any did."""


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
        raise BadLaunch(f"a launch needs a shape: write gl.xray({name})[blocks, threads](...)")

    def __getitem__(self, configuration: Any) -> Callable[..., Report]:
        given: Any = self._kernel
        configured = Configured(given, configuration)

        def launch(*args: Any, **named: Any) -> Report:
            if not isinstance(self._kernel, Kernel):
                return self._kernel.launch(
                    configured.grid, configured.block, args, configured.sharedmem,
                    xray=True, watch=self._block,
                )[0]  # fmt: skip
            report, _ = run(
                self._kernel, configured.grid, configured.block, args, configured.sharedmem,
                xray=True, watch=self._block, named=named,
            )  # fmt: skip
            return report

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
            "write gl.xray(kernel)[blocks, threads](...)"
        )
    return Kernel(function)


def xray(kernel: Any, *, block: int | tuple[int, ...] = 0) -> XRay:
    """`gl.xray` of what the source says."""
    return XRay(as_kernel(kernel), block)
