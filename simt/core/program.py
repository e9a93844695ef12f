"""The program: a kernel and its device functions, as the machine takes them from the front end."""

from collections.abc import Callable
from typing import Any, Protocol

from simt.core.memory import View
from simt.core.registry import DeviceFunction
from simt.core.source import Listing

Translation = Callable[..., Any]  # run(machine, *arguments)


class MachineProgram(Protocol):
    """A kernel as the machine sees it."""

    debug: bool  # exceptions reach the host
    fastmath: bool  # a float32 divides by zero without one
    most_shared: int  # bytes of shared memory that a block may have

    @property
    def source(self) -> Listing:
        """The kernel's text."""

    def kernel(self, *, counting: bool) -> Translation:
        """The kernel itself, with or without the calls that report each statement."""

    def prepared(
        self, device: DeviceFunction, args: tuple[Any, ...]
    ) -> tuple[Translation, tuple[Any, ...]]:
        """A device function, and the arguments as its declared signature wants them."""

    @property
    def captured(self) -> list[View]:
        """The arrays on the device that the kernel reaches by a global name."""

    @property
    def cooperative(self) -> bool:
        """Whether the kernel synchronizes the whole grid."""

    @property
    def copies_go_on(self) -> bool:
        """Whether it begins copies that go on while their thread does."""

    @property
    def makes_arrays(self) -> bool:
        """Whether the kernel has shared or local arrays."""

    @property
    def may_wait(self) -> bool:
        """Whether threads may wait for what others do, in a loop without a count."""

    @property
    def reinterprets(self) -> bool:
        """Whether the kernel may read memory of one type as another."""

    @property
    def written_parameters(self) -> set[str]:
        """The parameters through which the kernel may write."""
