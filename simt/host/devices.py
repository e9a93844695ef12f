"""The machine as a device: its limits, under the names that Numba uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, NoReturn

from simt.core.limits import BLOCKS_EACH, MAX_SHARED, MAX_SHARED_OPTIN, WARPS_EACH
from simt.errors import BadInput
from simt.host import streams
from simt.host.settings import replacements

__all__ = [
    "close", "cuda_error", "current_context", "detect", "get_current_device", "gpus",
    "is_available",
    "is_bfloat16_supported", "is_float16_supported", "is_fp8_supported", "is_supported_version",
    "list_devices", "open_ipc_array", "profile_start", "profile_stop", "profiling",
    "require_context", "runtime", "select_device", "set_memory_manager",
]  # fmt: skip


def close() -> None:
    """Nothing is open, and nothing is kept that could be reset."""


@contextmanager
def profiling() -> Iterator[None]:
    """Profilers of GPUs see nothing here; use `xray`."""
    yield


class MemoryInfo(NamedTuple):
    """Bytes of memory."""

    free: int
    total: int


class ComputeCapability(NamedTuple):
    """A GPU's generation."""

    major: int
    minor: int


class Name(str):
    """A device's name; it was bytes before, and programs that decode it go on."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name itself."""
        return str(self)


class Device:
    """The limits of the machine, under the names that Numba uses.

    Those of speed are 0: a clock of the machine would say nothing of a GPU's.
    """

    id = 0  # the only one
    name = Name("SIMT machine")
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = ComputeCapability(8, 0)
    COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = compute_capability
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X = MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = (1 << 31) - 1
    MAX_GRID_DIM_Y = MAX_GRID_DIM_Z = 65_535
    MAX_SHARED_MEMORY_PER_BLOCK = MAX_SHARED
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = MAX_SHARED_OPTIN
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 164 * 1024
    MAX_REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_MULTIPROCESSOR = 64 * 1024
    MAX_THREADS_PER_MULTIPROCESSOR = MAX_THREADS_PER_MULTI_PROCESSOR = 32 * WARPS_EACH
    MAX_BLOCKS_PER_MULTIPROCESSOR = BLOCKS_EACH
    TOTAL_CONSTANT_MEMORY = 64 * 1024
    MULTIPROCESSOR_COUNT = 1
    CLOCK_RATE = MEMORY_CLOCK_RATE = GLOBAL_MEMORY_BUS_WIDTH = L2_CACHE_SIZE = 0
    PCI_DOMAIN_ID = PCI_BUS_ID = PCI_DEVICE_ID = 0
    CONCURRENT_KERNELS = UNIFIED_ADDRESSING = MANAGED_MEMORY = COOPERATIVE_LAUNCH = 1
    CAN_MAP_HOST_MEMORY = 1
    KERNEL_EXEC_TIMEOUT = ECC_ENABLED = INTEGRATED = TCC_DRIVER = 0
    supports_float16 = supports_bfloat16 = True
    supports_fp8 = False

    def __init__(self, devnum: int = 0) -> None:
        if devnum != self.id:
            raise BadInput(f"there is no device {devnum}: the SIMT machine is device 0, alone")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def _device(self) -> Device:  # which Numba wraps in a context manager
        return self

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *reason: object) -> None:
        return None

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"the SIMT machine has no {name}: only a GPU's driver could tell it")

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name}'>"

    def get_device_identity(self) -> dict[str, int]:
        """Where on the bus a GPU would be."""
        return {"pci_domain_id": 0, "pci_bus_id": 0, "pci_device_id": 0}

    def get_primary_context(self) -> Context:
        """The device's only context."""
        return _context

    synchronize = staticmethod(streams.synchronize)
    reset = staticmethod(close)


class Context:
    """What a program has of a device: here one of each, for all threads."""

    device = Device()
    deallocations: ClassVar[dict[str, Any]] = {}  # what is to be freed: nothing ever
    synchronize = staticmethod(streams.synchronize)
    create_stream = staticmethod(streams.stream)
    create_external_stream = staticmethod(streams.external_stream)
    create_event = staticmethod(streams.event)
    get_default_stream = staticmethod(streams.default_stream)
    get_legacy_default_stream = staticmethod(streams.legacy_default_stream)
    get_per_thread_default_stream = staticmethod(streams.per_thread_default_stream)

    def get_memory_info(self) -> MemoryInfo:
        """How much memory there is: 1 GB is what launches may take."""
        return MemoryInfo(1 << 30, 1 << 30)

    def can_access_peer(self, peer_device: int) -> bool:
        """Whether another device's memory can be reached: there is no other."""
        return False

    defer_cleanup = staticmethod(profiling)  # which defers nothing either
    reset = push = pop = prepare_for_use = staticmethod(close)

    def __getattr__(self, name: str) -> Any:
        if name in _DRIVERS:
            raise AttributeError(
                f"current_context().{name} is a call of CUDA's driver, which the SIMT machine does "
                f"without: {_DRIVERS[name]}"
            )
        raise AttributeError(f"the context has no attribute {name!r}")


_SEND_HINT = "send the array itself to another process, as copy_to_host() gives it"
_DRIVERS = {
    "memalloc": "cuda.device_array makes memory",
    "memallocmanaged": "cuda.managed_array makes such memory",
    "memhostalloc": "cuda.pinned_array and cuda.mapped_array make such memory",
    "mempin": "cuda.pinned pins an array",
    "memunpin": "cuda.pinned unpins an array at its end",
    "get_ipc_handle": _SEND_HINT,
    "open_ipc_handle": _SEND_HINT,
    "create_module_ptx": "write the kernel in Python, or in CUDA C++ in a cell of %%cuda",
    "create_module_image": "write the kernel in Python, or in CUDA C++ in a cell of %%cuda",
    "memory_manager": "it keeps its memory itself",
}


_context = Context()


class _Gpus(tuple[Device, ...]):
    """`cuda.gpus`: one device, the machine."""

    lst = property(tuple)
    current = Context.device

    def __str__(self) -> str:
        return ", ".join(map(str, self))


gpus = _Gpus((Context.device,))


def get_current_device() -> Device:
    """The machine."""
    return gpus[0]


def select_device(device_id: int) -> Device:
    """The machine, which is device 0."""
    return gpus[device_id]


def list_devices() -> _Gpus:
    """The machine alone."""
    return gpus


def current_context(devnum: int | None = None) -> Context:
    """The context of the machine."""
    return gpus[devnum or 0].get_primary_context()


def require_context(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs a context: here there always is one."""
    return fn


class Driver:
    """What programs ask the driver of a GPU for."""

    is_available = True
    get_device = staticmethod(select_device)
    list_devices = staticmethod(list_devices)

    def get_device_count(self) -> int:
        """The machine alone."""
        return len(gpus)

    def get_version(self) -> tuple[int, int]:
        """The version of CUDA whose rules the machine follows."""
        return (12, 0)

    def is_supported_version(self) -> bool:
        """Whether Numba knows that version."""
        return True

    reset = staticmethod(close)


driver = runtime = Driver()
is_supported_version = driver.is_supported_version


def is_available() -> bool:
    """Whether there is a GPU: no, unless the machine has been put in its place."""
    return bool(replacements)


def cuda_error() -> None:
    """Why there is no CUDA: nothing keeps the machine from running kernels."""


def is_float16_supported() -> bool:
    """Whether kernels may use float16."""
    return Device.supports_float16


def is_bfloat16_supported() -> bool:
    """Whether a GPU of this compute capability has bfloat16."""
    return Device.supports_bfloat16


def is_fp8_supported() -> bool:
    """Whether a GPU of this compute capability has floats of 8 bits."""
    return Device.supports_fp8


def detect() -> bool:
    """Says which devices there are."""
    print("Found 0 CUDA devices: kernels run on the SIMT machine")
    return is_available()


def profile_start() -> None:
    """Profilers of GPUs see nothing here; use `xray`."""


profile_stop = profile_start


def open_ipc_array(*args: Any, **options: Any) -> NoReturn:
    """Memory of another process.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "open_ipc_array: memory of the SIMT machine cannot be shared between processes; "
        "send the array itself, as copy_to_host() gives it"
    )


def set_memory_manager(mm_plugin: Any) -> NoReturn:
    """Another library's memory for the device.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "set_memory_manager: the SIMT machine keeps its memory itself; leave the call out"
    )
